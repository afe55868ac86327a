"""Experience: verified programs with what it took to get them, kept in a store, chosen by how hard they were earned."""
