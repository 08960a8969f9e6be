#pragma once

namespace tokitai {

// Of every operator a small problem, or a few: lists, strides, options, in place.
inline constexpr const char* kEveryOperator[] = {
    "adamw.step n=5+0+9 t=1",
    "adamw.step n=7 t=3 master=yes",
    "adamw.step n=0+9+4 t=2 master=no+yes shift=0+1",
    "adamw.step n=0+9+4 t=2 scale=yes norm=yes outcome=yes",
    "gradient.norm n=5+0+9 type=f16+f32",
    "gradient.norm n=0+0",
    "layernorm.forward rows=3 cols=5 pad=2",
    "layernorm.backward rows=3 cols=5",
    "layernorm.forward rows=3 cols=5 master=yes in_place=residual single=residual",
    "rmsnorm.forward rows=3 cols=5 pad=2",
    "rmsnorm.forward rows=3 cols=5 master=yes in_place=x",
    "rmsnorm.backward rows=3 cols=5 master=yes single=yes",
    "softmax.forward rows=3 cols=5",
    "softmax.backward rows=3 cols=5",
    "cross_entropy.forward_backward rows=3 cols=5 reduction=sum master=yes",
    "cross_entropy.forward_backward rows=3 cols=5 in_place=yes pad=1",
    "embedding.forward queries=3 dim=5 vocab=4",
    "embedding.backward queries=3 dim=5 vocab=4 single=yes accumulate=1",
    "gemm.forward m=3 n=4 k=5",
    "gemm.grad_a m=3 n=4 k=5",
    "gemm.grad_b m=3 n=4 k=5",
    "grouped.forward m=3 groups=2 n=4 k=5",
    "grouped.grad_a m=3 groups=2 n=4 k=5",
    "grouped.grad_b m=3 groups=2 n=4 k=5"};

}  // namespace tokitai
