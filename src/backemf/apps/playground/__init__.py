"""Pages that simulate: kernels in JavaScript, sliders beside the figures of a fit, the playground."""
