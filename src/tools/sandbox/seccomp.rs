//! Limits system calls with seccomp. Calls that reach the network, other processes, or the kernel are refused. Without
//! namespaces, which make some calls harmless, more calls are refused.
//! Not for: files (`landlock`).

use super::Namespaces;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use std::collections::BTreeMap;

/// Calls refused with `EPERM`.
const REFUSED: &[i64] = &[
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_migrate_pages,
    libc::SYS_kcmp,
    // file systems and namespaces
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    OPEN_TREE_ATTR,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    // keys
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // the kernel
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_syslog,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];
/// Calls refused with `ENOSYS`, so that programs use an older call whose arguments can be checked.
const REFUSED_AS_UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    FILE_SETATTR,
];
/// The bit that marks calls of the x32 interface. Some of these calls have separate numbers.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const X32_OWN: &[i64] = &[514, 521, 528, 539, 540];

/// The `ioctl` requests `TIOCSTI` and `TIOCLINUX`, which inject terminal input.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// Calls for shared memory and message queues, which are refused without namespaces.
const SHARED_MEMORY: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];
/// Calls that name a process by number, with the index of that argument. Without namespaces, only 0 (the caller) is
/// allowed.
const BY_NUMBER: &[(i64, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_move_pages, 0),
];
/// Calls that name a process, a group, or a user by number, with the value of the first argument that selects a
/// process.
const BY_KIND: &[(i64, u64)] = &[(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];
/// Calls that change a file's owner, with the index of the owner argument; the group argument follows it. Landlock does
/// not check these calls. Without read-only mounts they are refused, except for the process's own user and group, which
/// programs that copy files set.
const CHANGE_OWNER: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chown, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lchown, 1),
    (libc::SYS_fchown, 1),
    (libc::SYS_fchownat, 2),
];
/// Calls that change extended attributes. They fail as on a file system without attributes, which programs expect.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
];
/// Calls that change a file's mode, with the index of the mode argument.
const CHANGE_MODE: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
];
/// Calls that create a file with a mode, with the index of the mode argument.
const CREATE_WITH_MODE: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];
/// Calls that can create a file, with the indexes of the flags and the mode.
const CREATE_WITH_FLAGS: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];
/// `O_CREAT`, and the bit of `O_TMPFILE` besides `O_DIRECTORY`.
const CREATE_FLAGS: [u64; 2] = [0o100, 0o20_000_000];
/// Mode bits that are refused, because a program with them acts for its owner or group: set-user-ID and set-group-ID.
/// On a folder, set-group-ID only hands its group on, but the arguments of a call do not tell a folder from a file.
const SET_ID: u64 = 0o6000;
/// The mode bit that is also refused without read-only mounts.
const WORLD_WRITABLE: u64 = 0o0002;
/// `ioctl` requests that change file flags through a descriptor that need not be writable: `FS_IOC_SETFLAGS`,
/// `FS_IOC_FSSETXATTR`, `FS_IOC_SETVERSION`, their 32-bit variants, and `FAT_IOCTL_SET_ATTRIBUTES`.
const FLAG_REQUESTS: [u64; 6] = [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602, 0x4004_7602, 0x4004_7211];
/// Calls that are newer than the `libc` crate's table. Their numbers are the same on all architectures.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Confines this process permanently.
pub(crate) fn confine(network: bool, namespaces: Namespaces) -> Result<(), String> {
    let error_text = |error: &dyn std::fmt::Display| format!("seccomp could not be applied: {error}.");
    let refused = refused(network, namespaces).map_err(|error| error_text(&error))?;
    let whole = |calls: &[i64]| -> Rules { calls.iter().map(|call| (*call, Vec::new())).collect() };
    let attributes = if namespaces == Namespaces::None { ATTRIBUTES } else { &[] };
    let filters =
        [(whole(REFUSED_AS_UNKNOWN), libc::ENOSYS), (whole(attributes), libc::EOPNOTSUPP), (refused, libc::EPERM)];
    for (rules, answer) in filters.into_iter().filter(|(rules, _)| !rules.is_empty()) {
        let program = program(rules, answer.unsigned_abs()).map_err(|error| error_text(&error))?;
        apply_filter(&program).map_err(|error| error_text(&error))?;
    }
    Ok(())
}

fn program(rules: Rules, answer: u32) -> Result<BpfProgram, seccompiler::BackendError> {
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(with_x32(rules), SeccompAction::Allow, SeccompAction::Errno(answer), machine)?.try_into()
}

fn refused(network: bool, namespaces: Namespaces) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let mut socket = Vec::new();
    if network {
        // Unix sockets reach services that could do what this process may not do.
        let allowed = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(|kind| u64::from(kind.unsigned_abs()));
        socket.push(all(allowed.map(|kind| (0, Len::Dword, Op::Ne, kind)))?);
    }
    rules.insert(libc::SYS_socket, socket);
    let spaces = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let spaces = spaces.map(|flag| u64::from(flag.unsigned_abs()));
    rules.insert(libc::SYS_clone, each(spaces.map(|flag| (0, Len::Qword, Op::MaskedEq(flag), flag)))?);
    // Refuse to inject terminal input or to change file flags, through any descriptor.
    let steering = TERMINAL_INPUT.into_iter().chain(FLAG_REQUESTS).map(|request| (1, Len::Dword, Op::Eq, request));
    rules.insert(libc::SYS_ioctl, each(steering)?);
    let changed = if namespaces == Namespaces::None { SET_ID | WORLD_WRITABLE } else { SET_ID };
    for (call, argument) in CHANGE_MODE {
        rules.insert(*call, each(bits(changed).map(|bit| masked(*argument, bit)))?);
    }
    for (call, argument) in CREATE_WITH_MODE {
        rules.insert(*call, each(bits(SET_ID).map(|bit| masked(*argument, bit)))?);
    }
    for (call, flags, mode) in CREATE_WITH_FLAGS {
        let made =
            bits(SET_ID).flat_map(|bit| CREATE_FLAGS.map(|flag| all([masked(*flags, flag), masked(*mode, bit)])));
        rules.insert(*call, made.collect::<Result<_, _>>()?);
    }
    if namespaces == Namespaces::None {
        rules.extend(SHARED_MEMORY.iter().map(|call| (*call, Vec::new())));
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        for (call, argument) in CHANGE_OWNER {
            // -1 leaves the owner unchanged.
            let other =
                |argument, own: u32| all([own, u32::MAX].map(|same| (argument, Len::Dword, Op::Ne, u64::from(same))));
            rules.insert(*call, vec![other(*argument, user)?, other(*argument + 1, group)?]);
        }
    }
    if namespaces != Namespaces::Full {
        rules.extend(without_processes()?);
    }
    Ok(rules)
}

/// Returns the rules for calls that are refused to a command without its own process namespace.
fn without_processes() -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for (call, argument) in BY_NUMBER {
        rules.insert(*call, each([(*argument, Len::Dword, Op::Ne, 0)])?);
    }
    for (call, process) in BY_KIND {
        rules.insert(*call, each([(0, Len::Dword, Op::Ne, *process), (1, Len::Dword, Op::Ne, 0)])?);
    }
    // -1 signals every process.
    rules.insert(libc::SYS_kill, each([(0, Len::Dword, Op::Eq, u64::from(u32::MAX))])?);
    Ok(rules)
}

type Condition = (u8, Len, Op, u64);

/// Returns the single bits of a number.
fn bits(all: u64) -> impl Iterator<Item = u64> {
    (0..u64::BITS).map(|bit| 1 << bit).filter(move |bit| all & bit != 0)
}

/// Makes a condition: all of these bits are set.
fn masked(argument: u8, bits: u64) -> Condition {
    (argument, Len::Dword, Op::MaskedEq(bits), bits)
}

/// Makes a rule that requires all conditions.
fn all(conditions: impl IntoIterator<Item = Condition>) -> Result<SeccompRule, seccompiler::BackendError> {
    let one = |(argument, length, op, value)| SeccompCondition::new(argument, length, op, value);
    SeccompRule::new(conditions.into_iter().map(one).collect::<Result<_, _>>()?)
}

/// Makes one rule for each condition.
fn each(conditions: impl IntoIterator<Item = Condition>) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    conditions.into_iter().map(|condition| all([condition])).collect()
}

#[cfg(target_arch = "x86_64")]
fn with_x32(rules: Rules) -> Rules {
    let twins: Vec<_> = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
    let own = X32_OWN.iter().map(|call| (call | X32, Vec::new()));
    rules.into_iter().chain(twins).chain(own).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn with_x32(rules: Rules) -> Rules {
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_user_id_and_set_group_id_are_refused_everywhere() {
        for namespaces in [Namespaces::None, Namespaces::Mounts, Namespaces::Full] {
            let rules = refused(false, namespaces).unwrap();
            let has = |call: i64, conditions: Vec<Condition>| {
                rules.get(&call).is_some_and(|rules| rules.contains(&all(conditions).unwrap()))
            };
            for bit in [0o4000, 0o2000] {
                for (call, mode) in CHANGE_MODE.iter().chain(CREATE_WITH_MODE) {
                    assert!(has(*call, vec![masked(*mode, bit)]), "{call} {bit:o}");
                }
                for (call, flags, mode) in CREATE_WITH_FLAGS {
                    for flag in CREATE_FLAGS {
                        assert!(has(*call, vec![masked(*flags, flag), masked(*mode, bit)]), "{call} {bit:o}");
                    }
                }
            }
            let world = has(libc::SYS_fchmod, vec![masked(1, 0o0002)]);
            assert_eq!(world, namespaces == Namespaces::None);
        }
    }
}
