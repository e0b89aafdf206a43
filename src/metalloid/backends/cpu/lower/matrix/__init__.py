"""simdgroup_matrix: elements in lanes, chains of products, tiles in registers."""
