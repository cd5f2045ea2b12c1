"""The verbs that names of functions begin with, and the names that do not."""

_VERBS = """
abbreviate accept acquire add advance align allows amend announce append apply are ask assign attach audit average
await begin bind bound broadcast build call can cancel change check choose claim clamp classify clean climb collect
commit compare complain complete compress compute condition confirm construct contains convert copy correct count covers
decide decode decompress decorate derive descend describe distil does draft draw drop enclose encode end enumerate
escape estimate evaluate exchange expand explain export extend factorise fail fill find fit fix flatten follow
forget format from get group guard guess handle has hash hide import improve impute include infer inspect invoke is
isolate iterate join keep learn leave limit list listen load locate lock looks make mark mask match maximize measure
merge mirror mix multiply name negate normalise note open optimize order orthonormalise pack parse perturb place
predict pretrain pull quote raise rank read recognise recommend record redirect refine refuse register release
render reopen repair repeat replace replay replicate report request requeue reseed reserve reset resolve respond
restore resume retry reword round run sample save say scale score search select send serve set settle shadow shorten
show silence simulate skew solve sort split standardise start strip submit subtract suggest sum summarise sync
tabulate take tell thin to transform try tune undo unguard unpack unscale unwrap update upgrade use vary wait wake
walk warn warp weigh whiten withdraw work wrap write
"""
VERBS = frozenset(_VERBS.split())

#: What GPyTorch, BoTorch, PyTorch, Optuna, Ax, pydantic, IPython and every script call by these names.
NAMES_OF_OTHERS = (
    "_repr_html_",
    "after_trial",
    "backward",
    "before_trial",
    "double",
    "forward",
    "generation_strategy",
    "main",
    "model_config",
    "named_sub_kernels",
    "optimizer",
    "posterior",
    "subset_output",
    "train",
)

#: What is called by the name of its result, as in mathematics, and pictures, which are asked for by their names.
NOUNS = ("cholesky", "diag", "effects", "front", "interactions", "old_data", "progress", "sobol", "trust")
