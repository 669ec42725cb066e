"""From a table as a node has it to the file that the node trains on; nothing leaves the node."""
