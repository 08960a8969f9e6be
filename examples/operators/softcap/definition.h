// cap*tanh(x/cap) and its gradient, an element at a time. The structs' bases are made of contract.txt.
namespace tokitai::softcap {

struct Forward : ForwardContract {
  using Pattern = patterns::Each;
  template <class M> static TK_FN void element(M& e) {
    auto x = e.load(e.x);
    e.store(e.y, e.value(e.cap) * tanh(x * e.value(e.slope)));
  }
};

struct Backward : BackwardContract {
  using Pattern = patterns::Each;
  template <class M> static TK_FN void element(M& e) {
    auto dy = e.load(e.dy);
    auto slope = e.value(e.slope);
    auto t = tanh(e.load(e.x) * slope);
    e.store(e.dx, dy * (fma(-t, t, 1.0f) * (e.value(e.cap) * slope)));
  }
};

}  // namespace tokitai::softcap
