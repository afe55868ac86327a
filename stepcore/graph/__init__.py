"""What programs and tasks are as data: the graph of operators, its specification, layouts of tensors."""
