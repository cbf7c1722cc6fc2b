"""Allow, ask or deny: decides what a teammate's tool call may do, and changes nothing itself."""
