//! Which system calls a command may make, by seccomp: all but those that reach out of the machine, into other processes,
//! or into the kernel.
//! Not for: files (`landlock`).

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use std::collections::BTreeMap;

/// Refused as not permitted.
const REFUSED: &[i64] = &[
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    // file systems and namespaces
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
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
/// Refused as unknown, so that programs take the older way, which can be looked into.
const UNKNOWN: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
/// Calls of the x32 interface go by other numbers with this bit; some have numbers of their own.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const X32_OWN: &[i64] = &[514, 521, 528, 539, 540];

/// `TIOCSTI` and `TIOCLINUX`.
const TYPING: [u64; 2] = [0x5412, 0x541c];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Confines this process for good.
///
/// # Errors
/// A sentence: it could not.
pub(super) fn confine(network: bool) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("seccomp could not be applied: {error}.");
    let refused = refused(network).map_err(|error| told(&error))?;
    let unknown: Rules = UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();
    for (rules, answer) in [(unknown, libc::ENOSYS), (refused, libc::EPERM)] {
        let program = program(rules, answer.unsigned_abs()).map_err(|error| told(&error))?;
        apply_filter(&program).map_err(|error| told(&error))?;
    }
    Ok(())
}

fn program(rules: Rules, answer: u32) -> Result<BpfProgram, seccompiler::BackendError> {
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(with_x32(rules), SeccompAction::Allow, SeccompAction::Errno(answer), machine)?.try_into()
}

fn refused(network: bool) -> Result<Rules, seccompiler::BackendError> {
    let when = |argument, length, op, value| SeccompCondition::new(argument, length, op, value);
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let mut socket = Vec::new();
    if network {
        // Sockets of this machine lead to services that would do what this process may not.
        let allowed = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(|kind| u64::from(kind.unsigned_abs()));
        let others = allowed.map(|kind| when(0, Len::Dword, Op::Ne, kind)).into_iter().collect::<Result<_, _>>()?;
        socket.push(SeccompRule::new(others)?);
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
    let spaces = spaces.map(|flag| SeccompRule::new(vec![when(0, Len::Qword, Op::MaskedEq(flag), flag)?]));
    rules.insert(libc::SYS_clone, spaces.into_iter().collect::<Result<_, _>>()?);
    // Putting words into a terminal's mouth.
    let typing = TYPING.map(|request| SeccompRule::new(vec![when(1, Len::Dword, Op::Eq, request)?]));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    Ok(rules)
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
