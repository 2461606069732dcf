"""The engine for GPUs: passes of fixed shape over memory of fixed place, recorded once, replayed.

Launching a pass kernel by kernel costs a small model more than computing it. So each pass is a
function of static tensors, which a CUDA graph can repeat: rows are padded to a few counts, context
to a few lengths. On a CPU the same functions run as they are, which is how they are tested.
"""
