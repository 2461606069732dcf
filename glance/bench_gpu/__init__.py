"""How fast the engine is at full size, where no weights are to be had: random ones cost the same.

A time depends on shapes, not on what the numbers say. So models of the true shapes are drawn on
the device, and the one thing that random weights cannot give, how many tokens a round accepts, is
played back from a script: every round pays for its draft, build, verify, accept and commit.
"""
