#include "server/crew.h"

#include <algorithm>

namespace tokitai::server {
namespace {

constexpr std::chrono::seconds kAttaching(60);

}  // namespace

Result<std::unique_ptr<Crew>> Crew::make(const Hello& hello, const std::filesystem::path& program, int workers,
                                         std::function<void()> finished) {
  std::unique_ptr<Crew> crew(new Crew());
  crew->finished_callback_ = std::move(finished);
  for (int i = 0; i < workers; ++i) {
    crew->members_.push_back(std::make_unique<Member>());
    crew->members_.back()->process = std::make_unique<WorkerProcess>(hello, program, -1);
  }
  WorkerProcess& first = *crew->members_.front()->process;
  if (Status s = first.start(); !s.ok()) return s;
  crew->welcome_ = first.welcome();
  for (const auto& member : crew->members_)
    member->thread = std::thread([crew = crew.get(), member = member.get()] { crew->work(*member); });
  return crew;
}

Crew::~Crew() {
  leave();
  for (const auto& member : members_)
    if (member->thread.joinable()) member->thread.join();
}

void Crew::leave() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (const auto& member : members_) member->process->leave();
}

void Crew::add(Job job) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
}

bool Crew::withdraw(std::uint64_t client) {
  const std::lock_guard lock(mutex_);
  const auto job = std::find_if(waiting_.begin(), waiting_.end(), [&](const Job& one) { return one.client == client; });
  if (job == waiting_.end()) return false;
  waiting_.erase(job);
  return true;
}

void Crew::forget(std::uint32_t memory) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& member : members_) member->forgotten.push_back(memory);
  }
  changed_.notify_all();
}

std::vector<Finished> Crew::take_finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

Crew::Counts Crew::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts{static_cast<std::int64_t>(waiting_.size()), running_, 0};
  for (const auto& member : members_) counts.restarts += std::max(0, member->process->starts() - 1);
  return counts;
}

void Crew::work(Member& member) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return leave_ || !member.forgotten.empty() || !waiting_.empty(); });
    if (leave_) return;
    if (!member.forgotten.empty()) {
      const std::uint32_t memory = member.forgotten.front();
      member.forgotten.pop_front();
      lock.unlock();
      detach(member, memory);
      lock.lock();
      continue;
    }
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    Finished finished{job.client, {}, false};
    finished.body = done(member, job, finished.good);
    job = {};  // its memory may be the last of its client
    lock.lock();
    --running_;
    finished_.push_back(std::move(finished));
    lock.unlock();
    finished_callback_();
    lock.lock();
  }
}

std::string Crew::done(Member& member, const Job& job, bool& good) {
  if (job.kind == Kind::workspace) {
    auto answer = ask<BytesNeeded>(member, job, Kind::bytes_needed, decode_bytes_needed);
    const BytesNeeded said = answer.ok() ? answer.value() : BytesNeeded{answer.status(), 0};
    good = said.status.ok();
    return encode(said);
  }
  auto answer = ask<Reply>(member, job, Kind::answer, decode_reply);
  const Reply said = answer.ok() ? answer.value() : Reply{answer.status(), {}};
  good = said.status.ok();
  return encode(said);
}

template <class T>
Result<T> Crew::ask(Member& member, const Job& job, Kind wanted, Result<T> (*decode)(std::string_view)) {
  Status refused;
  auto answer = member.process->ask<T>(job.kind, wanted, job.body, job.time, decode, [&](Clock::time_point deadline) {
    return attach(member, *job.memory, deadline, refused);
  });
  if (!refused.ok()) return refused;
  return answer;
}

// A worker that was replaced knows no memory. One that refuses it says why, and is not to blame: `refused`.
Status Crew::attach(Member& member, const ClientMemory& memory, Clock::time_point deadline, Status& refused) {
  const int start = member.process->starts();
  if (const auto known = member.attached.find(memory.number); known != member.attached.end() && known->second == start)
    return {};
  std::vector<int> descriptors;
  for (const Descriptor& one : memory.descriptors) descriptors.push_back(one.get());
  auto told = member.process->exchange(Kind::attach, Kind::done, encode(Attach{memory.number, memory.bytes}), deadline,
                                       decode_told, descriptors);
  if (!told.ok()) return {Code::unavailable, told.status().message()};
  refused = told->status;
  if (!refused.ok()) return Status::invalid("");
  member.attached[memory.number] = start;
  return {};
}

void Crew::detach(Member& member, std::uint32_t memory) {
  const auto known = member.attached.find(memory);
  if (known == member.attached.end()) return;
  const bool there = known->second == member.process->starts();
  member.attached.erase(known);
  if (there) member.process->tell(Kind::detach, encode_detach(memory), Clock::now() + kAttaching);
}

}  // namespace tokitai::server
