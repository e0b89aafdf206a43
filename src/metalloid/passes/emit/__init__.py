"""Write vector code: one file per kind of instruction, `core` for what they share, `control` for the flow."""
