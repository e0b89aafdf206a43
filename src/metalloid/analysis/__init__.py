"""What is known of a kernel without changing it: shapes over lanes, divergence, objects behind pointers, numbers."""
