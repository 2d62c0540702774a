"""What turns and readings share on their way to the model server and to the store."""
