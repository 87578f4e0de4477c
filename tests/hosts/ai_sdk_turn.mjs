// One streamText loop with two tools against the model server at URL: every part of its stream, and
// what its callbacks get, goes to standard output as {kind, value}, one a line.
//
//   node ai_sdk_turn.mjs URL PROMPT
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createAnthropic } from '@ai-sdk/anthropic';
import { stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const [url, prompt] = process.argv.slice(2);
const provider = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'not-a-key' });
const say = (kind, value) => console.log(JSON.stringify({ kind, value }));

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
