# PyTorch's way to the same work; bench/torch_peer.py and bench/torch_gpu_peer.py call it.
import torch


def adamw_step(p, make):
    return fused_on_gpu(p, make) if make.gpu else fused(p, make)


def fused(p, make):
    parameters = [torch.nn.Parameter(make.tensor(n)) for n in p["list"]]
    for parameter in parameters:
        parameter.grad = make.tensor(parameter.numel())
    optimizer = torch.optim.AdamW(parameters, fused=True)
    optimizer.step()
    moment = next(iter(optimizer.state.values()))["exp_avg"]
    element = parameters[0].element_size()  # read and written; so is each moment, and the gradient is read
    name = str(moment.dtype).replace("torch.bfloat", "bf").replace("torch.float", "f")
    return optimizer.step, (f"moments in {name}: {3 * element + 4 * moment.element_size()} bytes a parameter; "
                            f"ours in f32: {3 * element + 16}")


def fused_on_gpu(p, make):
    """Fused AdamW keeps its moments in the parameters' type: all of them in f16, then all of them in f32."""
    count, found, remarks = sum(p["list"]), [], []
    for name, dtype, bytes_each in (("f16", torch.float16, 14), ("f32", torch.float32, 28)):
        tensors = lambda: [make.tensor(n, dtype=dtype) for n in p["list"] if n > 0]
        theta, grads, m, v = tensors(), tensors(), tensors(), [x.abs_() for x in tensors()]
        steps = [torch.tensor(10.0, device="cuda") for _ in theta]
        call = lambda: torch._fused_adamw_(theta, grads, m, v, [], steps, lr=1e-3, beta1=0.9, beta2=0.999,
                                           weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False)
        seconds, host = make.times(call)
        rate = count * bytes_each / seconds
        found.append((rate, seconds, host, count * bytes_each))
        remarks.append(f"all {name}: {seconds * 1e6:.0f} us, {bytes_each} B per parameter, {rate / 1e9:.0f} GB/s")
        del theta, grads, m, v, steps, call
        torch.cuda.empty_cache()
    _, seconds, host, moved = max(found)
    return {"seconds": seconds, "host_seconds": host, "bytes": moved,
            "remark": "; ".join(remarks) + "; the ratio is that of GB/s"}
