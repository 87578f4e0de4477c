"""All wording of the report's pictures, in English and Chinese.

A text with "|" has a form for one and a form for many, by {n}.
"""

from typing import Any

WORDS: dict[str, tuple[str, str]] = {  # Key: (English, Chinese).
    # The page as a whole.
    "title": ("Turnkeeper report", "Turnkeeper 报告"),
    "needs_script": (
        (
            "This page draws itself with JavaScript, which is switched off here."
            " `turnkeeper report` without --html shows the same in a terminal."
        ),
        (
            "本页需要 JavaScript 才能显示，而此处已将其关闭。"
            "不带 --html 的 `turnkeeper report` 可在终端中显示相同内容。"
        ),
    ),
    "skip": ("Skip to the session", "跳到会话"),
    "theme": ("Colours", "配色"),
    "theme_auto": ("Auto", "自动"),
    "theme_light": ("Light", "浅色"),
    "theme_dark": ("Dark", "深色"),
    "sessions": ("Sessions", "会话"),
    "session": ("Session", "会话"),
    "n_sessions": ("{n} session|{n} sessions", "{n} 个会话"),
    "n_turns": ("{n} turn|{n} turns", "{n} 轮"),
    "n_files": ("{n} file|{n} files", "{n} 个文件"),
    "n_calls": ("{n} call|{n} calls", "{n} 次调用"),
    "n_tokens": ("{n} token|{n} tokens", "{n} token"),
    "n_more": ("{n} more", "还有 {n} 项"),
    "n_notes": ("{n} note|{n} notes", "{n} 条说明"),
    "show_more": ("Show {n} more", "再显示 {n} 项"),
    "search": ("Search sessions", "搜索会话"),
    "none_found": ("No session matches.", "没有匹配的会话。"),
    "no_sessions": ("No session was found.", "没有找到会话。"),
    "no_turns": ("This session has no turns.", "此会话没有轮次。"),
    "not_known": ("not known", "未知"),
    "unknown": ("unknown", "未知"),
    "unsupported": ("unsupported", "不支持"),
    "unsupported_why": (
        "This runtime does not tell it, so it is not counted. It need not be 0.",
        "此运行时不提供该数据，因此未计入；它不一定为 0。",
    ),
    # Totals.
    "totals": ("Totals", "总计"),
    "input": ("Input", "输入"),
    "output": ("Output", "输出"),
    "cacheRead": ("Cache read", "缓存读取"),
    "cacheCreation": ("Cache creation", "缓存写入"),
    "messages": ("Messages", "消息"),
    "no_usage": ("no usage was reported", "没有报告用量"),
    "files": ("Files", "文件"),
    "unreadableLines": ("Unreadable lines", "无法读取的行"),
    "of_all": ("{share} of all", "占全部 {share}"),
    "usage_source": (
        "As the hosts reported usage; each message counts once",
        "依据宿主报告的用量；每条消息只计一次",
    ),
    "files_source": ("Counted while the files were read", "读取文件时统计"),
    # A session.
    "runtime": ("Runtime", "运行时"),
    "model": ("Model", "模型"),
    "started": ("Started", "开始"),
    "ended": ("Ended", "结束"),
    "file": ("File", "文件"),
    "folder": ("Folder", "目录"),
    # Turns.
    "turns": ("Turns", "轮次"),
    "turn": ("Turn", "轮次"),
    "turn_n": ("Turn {n}", "第 {n} 轮"),
    "turn_of": ("Turn {n} of {all}", "第 {n} 轮，共 {all} 轮"),
    "previous": ("Previous turn", "上一轮"),
    "next": ("Next turn", "下一轮"),
    "turns_hint": (
        (
            "What entered the context in each turn, and the rest of its last request, in tokens."
            " Arrow keys move from turn to turn, Enter goes to its details."
        ),
        (
            "每轮进入上下文的内容，以及其最近一次请求的其余部分，以 token 计。"
            "用方向键切换轮次，按 Enter 查看详情。"
        ),
    ),
    "overview": ("All turns; the frame is what stands above", "全部轮次；方框为上方所示部分"),
    "scale": ("Scale", "刻度"),
    "scale_tokens": ("Tokens", "Token"),
    "scale_share": ("Shares", "占比"),
    "legend": ("Kinds; press to hide or show", "类别；点击以隐藏或显示"),
    "as_table": ("As a table", "以表格显示"),
    "total": ("Sum", "合计"),
    "line": ("line {n}", "第 {n} 行"),
    "lines": ("Line", "行"),
    "outcome": ("Outcome", "结果"),
    "outcome_completed": ("completed", "已完成"),
    "outcome_interrupted": ("interrupted", "已中断"),
    "outcome_failed": ("failed", "失败"),
    "outcome_awaitingUser": ("waits for the user", "等待用户"),
    "from_human": ("from a person", "来自用户"),
    "from_program": ("from a program", "来自程序"),
    "prompt_of": ("prompt of {n} character|prompt of {n} characters", "{n} 个字符的提示"),
    "n_units": ("{n} character|{n} characters", "{n} 个字符"),
    "context": ("What entered the context", "进入上下文的内容"),
    "nothing_entered": (
        "Nothing that can be counted entered the context.",
        "没有可计数的内容进入上下文。",
    ),
    "kind": ("Kind", "类别"),
    "tokens": ("Tokens", "Token"),
    "share": ("Share", "占比"),
    "share_source": ("Of the sum of the rows", "占各行之和"),
    "source": ("Source", "来源"),
    "detail_and_source": ("Detail and source", "详情与来源"),
    "calls": ("Calls", "调用"),
    "note": ("Note", "备注"),
    "name": ("Name", "名称"),
    "open": ("Open {name}", "展开 {name}"),
    "calibrated": ("calibrated: {n}", "校准后：{n}"),
    "call": ("call", "调用"),
    "other_calls": ("Other calls", "其他调用"),
    "failed_call": ("failed", "失败"),
    "by_agent": ("sub-agent {id}", "子代理 {id}"),
    "call_source": (
        "Estimated from its input and its result, in the recording",
        "根据记录中的输入与结果估算",
    ),
    "source_conversation": (
        "The last request beyond its input from the cache and the kinds",
        "最近一次请求中缓存输入与各类别之外的部分",
    ),
    "source_pending_next_turn": (
        "Waits in the composer and is not sent yet",
        "在输入框中等待，尚未发送",
    ),
    "source_cache_or_previous": (
        "The rest of the last request, as reported",
        "最近一次请求的其余部分，依据报告",
    ),
    "no_source": ("no source is given", "未给出来源"),
    # Facts of a turn.
    "usage": ("Usage", "用量"),
    "partial": ("A message had not ended when this was written.", "写入时有消息尚未结束。"),
    "inherited": (
        "Copied from the session that this one was forked from.",
        "复制自分叉前的会话。",
    ),
    "window": ("Context window", "上下文窗口"),
    "used": ("Used", "已用"),
    "window_tokens": ("Size", "大小"),
    "ratio": ("Full", "占用率"),
    "remaining": ("Left", "剩余"),
    "stale": (
        "Stale: a compaction came after the last request.",
        "已过时：最近一次请求之后发生了压缩。",
    ),
    "reconciliation": ("Reconciliation", "对账"),
    "recon_input": ("Reported input", "报告的输入"),
    "recon_kinds": ("Sum of kinds", "各类别之和"),
    "remainder": ("Remainder", "余额"),
    "overcount": (
        "Overcount: the kinds come to more than was sent.",
        "超计：各类别之和大于实际发送量。",
    ),
    "recon_source": (
        "The last request's reported input against what the kinds explain",
        "最近一次请求报告的输入与各类别之和的对照",
    ),
    "estimator": ("Estimator", "估算器"),
    "estimator_hint": (
        (
            "Measured on this session: the estimate of what was appended between two requests"
            " against the change in reported usage."
        ),
        "在本会话中实测：两次请求之间新增内容的估算值与所报告用量变化的对照。",
    ),
    "samples": ("Samples", "样本数"),
    "median": ("Median error", "误差中位数"),
    "p90": ("90 % are within", "90 % 的误差不超过"),
    "est_ratio": (
        "The provider counts {n} tokens where the estimate says 1.",
        "估算为 1 个 token 之处，提供方计为 {n} 个。",
    ),
    "est_wide": (
        "In Chinese, Japanese and Korean text it counts {n}.",
        "对于中日韩文字，提供方计为 {n} 个。",
    ),
    # Skills.
    "skills": ("Skills", "Skills"),
    "state": ("State", "状态"),
    "state_listed": ("listed", "已列出"),
    "state_called": ("called", "已调用"),
    "state_loaded": ("loaded", "已载入"),
    "state_reinjected": ("re-injected", "已重新注入"),
    "state_dropped": ("dropped", "已移除"),
    "only_listed": (
        (
            "{n} skill was only listed: its name stood in a list, its body did not enter."
            "|{n} skills were only listed: their names stood in a list, their bodies did not enter."
        ),
        "{n} 个 Skill 仅被列出：名称在列表中，正文未进入上下文。",
    ),
    # Sub-agents.
    "subagents": ("Sub-agents", "子代理"),
    "subagents_hint": (
        "What entered the sub-agents' own contexts; none of it is in the turn's rows.",
        "进入子代理自身上下文的内容；不计入本轮各行。",
    ),
    "subagents_session": ("Sub-agents of the session", "本会话的子代理"),
    # What a request is made of.
    "composition": ("What one request is made of", "一次请求的组成"),
    "composition_hint": (
        (
            "Lengths are exact. Tokens are the lengths scaled to the {n} tokens that the model"
            " reported as input of request {id}."
        ),
        "长度为精确值。Token 按长度折算，使其总和等于请求 {id} 所报告的 {n} 个输入 token。",
    ),
    "no_composition": (
        (
            "The recording has no request rows for this turn, so what its requests were made of"
            " is not known."
        ),
        "记录中没有本轮的请求行，因此无法得知其请求的组成。",
    ),
    "go_to_composition": (
        "The nearest turn that has them is turn {n}.",
        "最近的有请求行的轮次是第 {n} 轮。",
    ),
    "part": ("Part", "部分"),
    "units": ("Characters", "字符"),
    "units_are": ("Counted as UTF-16 units", "按 UTF-16 单元计数"),
    "n_parts": ("{n} part|{n} parts", "{n} 个部分"),
    "treemap": ("Parts of the request by size", "按大小显示请求的各部分"),
    "part_system_prompt": ("System prompt", "系统提示"),
    "part_tool_schema": ("Tool schemas", "工具定义"),
    "part_mcp_schema": ("MCP schemas", "MCP 定义"),
    "part_skill_listing": ("Skill listing", "Skill 列表"),
    "part_skill_body": ("Skill bodies", "Skill 正文"),
    "part_instructions": ("Instruction files", "指令文件"),
    "part_memory": ("Memory", "Memory"),
    "part_mcp_instructions": ("MCP instructions", "MCP 说明"),
    "part_hook_context": ("Hook context", "Hook 上下文"),
    "part_environment": ("Environment", "环境"),
    "part_reminder": ("Reminders", "提醒"),
    "part_file": ("Files", "文件"),
    "part_user_text": ("User text", "用户文本"),
    "part_assistant_text": ("Assistant text", "助手文本"),
    "part_thinking": ("Thinking", "思考"),
    "part_tool_input": ("Tool inputs", "工具输入"),
    "part_tool_result": ("Tool results", "工具结果"),
    "part_image": ("Images", "图像"),
    # The window over time.
    "fill": ("Window fill over time", "窗口占用随时间的变化"),
    "fill_hint": (
        (
            "Tokens in the context at each model request. Dashed: stale since a compaction, until"
            " the next request tells."
        ),
        "每次模型请求时上下文中的 token 数。虚线：压缩之后已过时，直到下一次请求。",
    ),
    "fill_source": ("As reported with each request", "随每次请求报告"),
    "no_fill": (
        "No request of this session told how full the window was.",
        "此会话中没有请求报告窗口占用。",
    ),
    "fill_per_turn": ("One point a turn: its last request.", "每轮一个点：其最后一次请求。"),
    "window_unknown": ("The size of the window is not known.", "窗口大小未知。"),
    "window_is": ("window {n}", "窗口 {n}"),
    "compaction": ("Compaction", "压缩"),
    "n_compactions": ("{n} compaction|{n} compactions", "{n} 次压缩"),
    "trigger_auto": ("automatic", "自动"),
    "trigger_manual": ("by hand", "手动"),
    "before": ("before {n}", "之前 {n}"),
    "after": ("after {n}", "之后 {n}"),
    "stale_short": ("stale", "已过时"),
    # Totals by name.
    "by": ("Totals by what put them there", "按来源合计"),
    "by_scope": (
        (
            "Over all sessions of this report, calls and skills of sub-agents included. Tokens of"
            " calls, skills and rules are estimates."
        ),
        "涵盖本报告的全部会话，包含子代理的调用与 Skills。调用、Skills 和规则的 token 为估算值。",
    ),
    "byTool": ("Tools", "工具"),
    "bySkill": ("Skills", "Skills"),
    "byMcpServer": ("MCP servers", "MCP 服务器"),
    "byRule": ("Rule files", "规则文件"),
    "bySubagent": ("Sub-agents", "子代理"),
    "title_byTool": ("Tools, those of sub-agents included", "工具（含子代理）"),
    "title_bySkill": ("Skills, those of sub-agents included", "Skills（含子代理）"),
    "title_byMcpServer": ("MCP servers, sub-agents' calls included", "MCP 服务器（含子代理调用）"),
    "title_byRule": ("Rule files", "规则文件"),
    "title_bySubagent": ("Sub-agents", "子代理"),
    "only_instructions": ("instructions", "说明"),
    "source_byTool": ("Inputs and results of its calls", "其调用的输入与结果"),
    "source_bySkill": ("The body of its SKILL.md", "其 SKILL.md 正文"),
    "source_byMcpServer": ("Inputs and results of its calls", "其调用的输入与结果"),
    "source_byRule": ("The file, once a session", "该文件，每个会话一次"),
    "source_bySubagent": ("Calls in the sub-agent's own context", "子代理自身上下文中的调用"),
    "loads": ("Loads", "载入"),
    "path": ("Path", "路径"),
    "nothing_here": ("Nothing of this kind.", "没有此类内容。"),
    # The terminal.
    "turns_left_out": (
        "{n} earlier turn not shown here|{n} earlier turns not shown here",
        "此处未显示更早的 {n} 轮",
    ),
    "sessions_left_out": (
        "{n} earlier session not shown here|{n} earlier sessions not shown here",
        "此处未显示更早的 {n} 个会话",
    ),
    "how_to_see_all": (
        "See all with --html FILE or --json.",
        "用 --html FILE 或 --json 查看全部。",
    ),
    "of_all_sessions": (
        "Totals of the {n} session|Totals of all {n} sessions",
        "全部 {n} 个会话的合计",
    ),
    "notes": ("Notes", "说明"),
    "bar_is": ("What entered, and the rest of the request", "进入的内容与请求的其余部分"),
    "bars_told": (
        "Bars: what entered the context in each turn, and the rest of its last request.",
        "条形：每轮进入上下文的内容，以及其最近一次请求的其余部分。",
    ),
    "scale_window": ("A whole bar is the context window.", "整条为上下文窗口。"),
    "scale_most": (
        "The windows' sizes are not known: a whole bar is {n} tokens, the most of a turn here.",
        "窗口大小未知：整条为 {n} 个 token，即此处各轮的最大值。",
    ),
    "scale_most_else": (
        "Full is - where its size is not known: there a whole bar is {n} tokens.",
        "窗口大小未知时占用率为 -：整条为 {n} 个 token。",
    ),
    "turn_by_kind": ("Turn {n} by kind, tokens and source", "第 {n} 轮按类别：token 与来源"),
    "composition_last": (
        "Its last request by part, tokens and source",
        "其最近一次请求按部分：token 与来源",
    ),
}


def words(locale: str) -> dict[str, str]:
    """Give the whole table in one language; any locale but a Chinese one reads English."""
    place = int(is_chinese(locale))
    return {key: texts[place] for key, texts in WORDS.items()}


def said(locale: str, key: str, **values: Any) -> str:
    """Say one text, with `values` filled in; {n} picks between one and many."""
    text = WORDS[key][is_chinese(locale)]
    one, bar, many = text.partition("|")
    if bar:
        text = one if values.get("n") in (1, "1") else many
    for name, value in values.items():
        text = text.replace("{" + name + "}", f"{value:,}" if type(value) is int else str(value))
    return text


def is_chinese(locale: str) -> bool:
    """Tell whether a locale reads Chinese."""
    return locale.casefold().startswith("zh")
