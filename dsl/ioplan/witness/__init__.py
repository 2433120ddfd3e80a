"""What a backend did on a device that ioplan owns: asked, told, seen."""
