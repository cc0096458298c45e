"""What the operator's commands do: put an intent down, and see it carried out."""
