"""The parts of `speed` by their names, as the command line takes them."""

from benchmarks.studies.speed import cuda
from benchmarks.studies.speed.batches_asked import batches
from benchmarks.studies.speed.contention import busy, workers
from benchmarks.studies.speed.growth import more_observations, old_rows
from benchmarks.studies.speed.kernel_entries import entries
from benchmarks.studies.speed.learning import imports, pretraining
from benchmarks.studies.speed.one_suggestion import profile, suggestions, whole_campaign
from benchmarks.studies.speed.timing import Part

ON_CPU: dict[str, Part] = {
    "entries": entries,
    "suggestions": suggestions,
    "old-rows": old_rows,
    "pretraining": pretraining,
    "observations": more_observations,
    "batches": batches,
    "busy": busy,
    "workers": workers,
    "campaign": whole_campaign,
    "imports": imports,
    "profile": profile,
}
ON_CUDA: dict[str, Part] = {
    "cuda-peaks": cuda.peaks,
    "cuda-pretraining": cuda.pretraining,
    "cuda-blocks": cuda.blocks,
}
