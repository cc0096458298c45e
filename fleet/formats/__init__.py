"""The bytes on disk: names, shapes and atomic writes. Standard library only, cheap to import inside an agent."""
