"""How the rows of an account look in a terminal."""

# Row: (colour on a terminal, cell of a bar without colours).
LOOKS = {
    "system_prompt": ("blue", "s"),
    "tools": ("green", "t"),
    "rules": ("magenta", "r"),
    "skills": ("yellow", "k"),
    "mcp": ("cyan", "m"),
    "memory": ("bright_blue", "y"),
    "files_attachments": ("bright_magenta", "f"),
    "conversation": ("white", "c"),
    "pending_next_turn": ("bright_green", "p"),
    "cache_or_previous": ("bright_black", "-"),
}
