// The queue of a device: its streams, waiting for it, and marks in it.
#include <fmt/format.h>

#include "runtime/machine.h"

namespace tokitai {

struct Mark::Point {
  Point(std::shared_ptr<Machine> of, void* place, std::string name)
      : machine(std::move(of)), at(place), device(std::move(name)) {}
  ~Point() {
    if (machine->usable_here())
      machine->release_mark(at);
    else
      leave_as_it_is(at);
  }
  Point(const Point&) = delete;
  Point& operator=(const Point&) = delete;

  const std::shared_ptr<Machine> machine;
  void* const at;
  const std::string device;
};

Status Device::wait() {
  Status s = usable();
  return s.ok() ? machine_->wait() : s;
}
Result<Mark> Device::mark() {
  if (Status s = usable(); !s.ok()) return s;
  auto at = machine_->mark();
  if (!at.ok()) return at.status();
  return Mark(std::make_shared<const Mark::Point>(machine_, at.value(), name()));
}
Status Device::check_mark(const Mark& mark, std::string_view which) const {
  if (!mark) return Status::invalid(fmt::format("{} was not made", which));
  if (mark.point_->machine->device() != machine_->device())
    return Status::invalid(fmt::format("{} is of another device ({}), not of {}", which, mark.point_->device, name()));
  return {};
}
Status Device::wait(const Mark& mark) {
  if (Status s = usable(); !s.ok()) return s;
  if (Status s = check_mark(mark, "waiting for a mark: it"); !s.ok()) return s;
  return machine_->wait_for(mark.point_->at);
}
Result<double> Device::seconds_between(const Mark& earlier, const Mark& later) {
  if (Status s = usable(); !s.ok()) return s;
  if (Status s = check_mark(earlier, "the time between two marks: the earlier one"); !s.ok()) return s;
  if (Status s = check_mark(later, "the time between two marks: the later one"); !s.ok()) return s;
  return machine_->seconds_between(earlier.point_->at, later.point_->at);
}

Result<Device> Device::on(void* stream) const {
  if (Status s = usable(); !s.ok()) return s;
  auto machine = machine_->on(stream);
  if (machine.ok() && machine.value() == nullptr)
    return Status::invalid(fmt::format("the device {} has no streams", name()));
  return with(std::move(machine));
}
Result<Device> Device::on_new_stream() const {
  if (Status s = usable(); !s.ok()) return s;
  return with(machine_->on_new_stream());
}
Result<Device> Device::with(Result<std::shared_ptr<Machine>> machine) const {
  if (!machine.ok()) return machine.status();
  return machine.value() ? Device(facts_, std::move(machine).value()) : *this;
}

}  // namespace tokitai
