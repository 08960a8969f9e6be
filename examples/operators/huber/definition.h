// The Huber loss and its gradient, a row at a time. ForwardBackwardContract is made of contract.txt.
namespace tokitai::huber {

struct ForwardBackward : ForwardBackwardContract {
  using Pattern = patterns::Row;
  template <class M> static TK_FN void row(M& m) {
    auto x = m.read(m.x);
    auto target = m.read(m.target);
    auto delta = m.value(m.delta), half = m.value(m.half), scale = m.value(m.scale);
    m.put(m.loss, m.sum([&](auto i) {
      auto d = x[i] - target[i];
      auto a = select(d < 0.0f, -d, d);
      return select(a <= delta, (0.5f * d) * d, delta * (a - half));
    }));
    m.store(m.dx, [&](auto i) {
      auto d = x[i] - target[i];
      auto held = select(d > delta, decltype(d)(delta), select(d < -delta, decltype(d)(-delta), d));
      return scale * held;
    });
  }
};

}  // namespace tokitai::huber
