//! What processes cost: CPU time and memory, as the kernel counts them.

use std::mem::MaybeUninit;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions};

use crate::Result;

/// What one call of a program cost, everything it left running included.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Until the program itself had ended: what an agent waits for.
    pub wall: Duration,
    /// User and system time, of its children too.
    pub cpu: Duration,
}

/// From now on orphans of our children are ours to wait for, so that their time is counted.
pub fn adopt_orphans(yes: bool) -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(yes.then(rustix::process::getpid))?;
    #[cfg(not(target_os = "linux"))]
    let _ = yes; // what is left in the background is not counted there
    Ok(())
}

/// Runs a command to its end. It gets a process group of its own, by which its orphans are found.
pub fn call(command: &mut Command) -> Result<Call> {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
    let before = children_cpu()?;
    let began = Instant::now();
    let mut child = command.spawn()?;
    let status = child.wait()?;
    let wall = began.elapsed();
    let group = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or("no process id")?;
    while rustix::process::waitpgid(group, WaitOptions::empty()).is_ok() {}
    let cpu = children_cpu()?.saturating_sub(before);
    if status.success() {
        Ok(Call { wall, cpu })
    } else {
        Err(format!("{command:?} ended with {status}").into())
    }
}

/// CPU time of all children that have been waited for.
fn children_cpu() -> Result<Duration> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: getrusage fills the whole struct when it returns 0, and only then is it read.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        usage.assume_init()
    };
    let time = |value: libc::timeval| {
        Duration::from_secs(value.tv_sec.unsigned_abs())
            + Duration::from_micros(u64::try_from(value.tv_usec).unwrap_or(0))
    };
    Ok(time(usage.ru_utime) + time(usage.ru_stime))
}

/// CPU time a running process has used so far, its ended threads included.
#[cfg(target_os = "linux")]
pub fn cpu_of(pid: u32) -> Result<Duration> {
    let mut clock: libc::clockid_t = 0;
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: both functions fill what they are given when they return 0, and only then is it read.
    let time = unsafe {
        let error = libc::clock_getcpuclockid(i32::try_from(pid)?, &mut clock);
        if error != 0 {
            return Err(std::io::Error::from_raw_os_error(error).into());
        }
        if libc::clock_gettime(clock, time.as_mut_ptr()) != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        time.assume_init()
    };
    Ok(Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec)?,
    ))
}

/// As `ps` says it.
#[cfg(not(target_os = "linux"))]
pub fn cpu_of(pid: u32) -> Result<Duration> {
    let text = ps(pid, "time=")?;
    let seconds = text.trim().split(':').try_fold(0.0, |sum, part| {
        part.parse::<f64>().map(|part| sum * 60.0 + part)
    })?;
    Ok(Duration::from_secs_f64(seconds))
}

/// CPU time of those children of a process that have ended, to a hundredth of a second; nothing
/// where the system does not tell.
pub fn cpu_of_ended_children(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // the name in parentheses may hold anything; fields 16 and 17 are the 14th and 15th after it
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks: u64 = after
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// Resident memory in MiB.
pub fn resident_mib(pid: u32) -> Result<f64> {
    if let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
        let kib = kib(&status, "VmRSS:").ok_or("no VmRSS")?;
        return Ok(kib / 1024.0);
    }
    Ok(ps(pid, "rss=")?.trim().parse::<f64>()? / 1024.0)
}

/// What the processes of a program hold, in MiB.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    pub resident: f64,
    /// What is shared counts once, divided among those who share it.
    pub proportional: f64,
}

/// A process and all its descendants.
pub fn tree_mib(pid: u32) -> Result<Held> {
    let mut held = Held::default();
    for pid in tree(pid) {
        let resident = resident_mib(pid)?;
        held.resident += resident;
        // Where the system does not tell what is shared, all of it is its own.
        let shares = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
        let shares = shares.ok().and_then(|text| kib(&text, "Pss:"));
        held.proportional += shares.map_or(resident, |kib| kib / 1024.0);
    }
    Ok(held)
}

fn tree(pid: u32) -> Vec<u32> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(u32, u32)> = folders
        .filter_map(|folder| {
            let pid: u32 = folder.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(folder.path().join("stat")).ok()?;
            let (_, after) = stat.rsplit_once(')')?;
            Some((pid, after.split_whitespace().nth(1)?.parse().ok()?))
        })
        .collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(pid, _)| *pid));
        at += 1;
    }
    found
}

/// The most that a process has held at once, in MiB; what it holds now where the system does not
/// keep that.
pub fn peak_mib(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    match status.ok().and_then(|text| kib(&text, "VmHWM:")) {
        Some(kib) => Ok(kib / 1024.0),
        None => resident_mib(pid),
    }
}

fn kib(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().trim_end_matches(" kB").parse().ok()
}

fn ps(pid: u32, column: &str) -> Result<String> {
    let output = Command::new("ps")
        .args(["-o", column, "-p", &pid.to_string()])
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Who is measuring, and who else is busy.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    let load = if load.is_empty() {
        "unknown".to_owned()
    } else {
        load.join(" ")
    };
    format!(
        "{cores} cores, load {load}, {}",
        jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC")
    )
}
