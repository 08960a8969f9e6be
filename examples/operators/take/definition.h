// Rows by index and their gradient. ForwardContract and BackwardContract are made of contract.txt.
namespace tokitai::take {

struct Forward : ForwardContract {
  using Pattern = patterns::Segment;
  template <class M> static TK_FN void segment(M& m) { m.gather(m.y, m.x, m.index, m.none); }
};

struct Backward : BackwardContract {
  using Pattern = patterns::Segment;
  template <class M> static TK_FN void segment(M& m) { m.scatter_sum(m.dx, m.dy, m.index, m.none, false); }
};

}  // namespace tokitai::take
