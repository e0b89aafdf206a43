// What it declares comes with the precompiled header.
