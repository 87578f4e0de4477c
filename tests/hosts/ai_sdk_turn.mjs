// One streamText loop with four tools against the model server at URL: every part of its stream, and
// what its callbacks get, goes to standard output as {kind, value}, one a line.
//
//   node ai_sdk_turn.mjs URL PROMPT MCP    MCP: the command of an MCP server, as a JSON list
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createAnthropic } from '@ai-sdk/anthropic';
import { stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const [url, prompt, mcp] = process.argv.slice(2);
const provider = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'not-a-key' });
const say = (kind, value) => console.log(JSON.stringify({ kind, value }));

// Calls one tool of the MCP server, which lives as long as the call.
async function callMcp(name, args) {
  const [program, ...given] = JSON.parse(mcp);
  const server = spawn(program, given, { stdio: ['pipe', 'pipe', 'inherit'] });
  const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {} } });
  try {
    for await (const line of createInterface({ input: server.stdout })) {
      const { id, result } = JSON.parse(line);
      if (id === 2) return result.content.map((part) => part.text).join('\n');
      send({ method: 'notifications/initialized' });
      send({ id: 2, method: 'tools/call', params: { name, arguments: args } });
    }
  } finally {
    server.stdin.end();
  }
  throw new Error('the MCP server ended');
}

const run = streamText({
  model: provider('claude-sonnet-4-5'),
  prompt,
  stopWhen: stepCountIs(10),
  tools: {
    Bash: tool({
      description: 'Run a command.',
      inputSchema: z.object({ command: z.string() }),
      execute: ({ command }) => execFileSync('bash', ['-c', command], { encoding: 'utf8' }),
    }),
    Read: tool({
      description: 'Read a file.',
      inputSchema: z.object({ file_path: z.string() }),
      execute: ({ file_path }) => readFileSync(file_path, 'utf8'),
    }),
    Skill: tool({
      description: 'Open a skill by its name: release-notes.',
      inputSchema: z.object({ skill: z.string() }),
      execute: ({ skill }) => readFileSync(`.claude/skills/${skill}/SKILL.md`, 'utf8'),
    }),
    mcp__echo__echo: tool({
      description: 'Says the text back.',
      inputSchema: z.object({ text: z.string() }),
      execute: (args) => callMcp('echo', args),
    }),
  },
  onStepFinish: ({ finishReason, usage, text, toolCalls, toolResults }) =>
    say('onStepFinish', { finishReason, usage, text, toolCalls, toolResults }),
  onFinish: ({ finishReason, usage, totalUsage, steps }) =>
    say('onFinish', { finishReason, usage, totalUsage, steps: steps.length }),
  onError: ({ error }) => say('onError', String(error)),
});
for await (const part of run.fullStream) {
  say('part', part.type === 'start-step' ? { type: part.type } : part);
}
