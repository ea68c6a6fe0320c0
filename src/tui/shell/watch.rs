//! Reports when a file of the configuration was written, from a thread that waits for the kernel's notification.
//! Without such notifications, the workbench checks the files when its window gets the focus.
//! Not for: reading the files (`configuration`).

#[cfg(target_os = "linux")]
pub(crate) use linux::watch;

#[cfg(not(target_os = "linux"))]
pub(crate) fn watch(_: Vec<(std::path::PathBuf, Vec<String>)>, _: std::sync::mpsc::Sender<crate::tui::msg::Msg>) {}

#[cfg(target_os = "linux")]
mod linux {
    use crate::tui::msg::{ConfigMsg, Msg};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::Sender;
    use std::thread;
    use std::time::Duration;

    /// Waits until an editor that writes in several steps is done.
    const WRITE_PAUSE: Duration = Duration::from_millis(60);

    /// Watches the named files in each folder, or all files ending in `.toml` if none are named. Missing folders are
    /// skipped.
    pub(crate) fn watch(folders: Vec<(PathBuf, Vec<String>)>, to: Sender<Msg>) {
        let Ok(service) = inotify::init(CreateFlags::CLOEXEC) else { return };
        let wanted = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE;
        let mut known = Vec::new();
        for (folder, names) in folders {
            if let Ok(id) = inotify::add_watch(&service, &folder, wanted | WatchFlags::ONLYDIR) {
                known.push((id, names));
            }
        }
        if !known.is_empty() {
            let failed = to.clone();
            let work = move || listen(&service, &known, &to);
            if let Err(error) = thread::Builder::new().name("config".to_owned()).spawn(work) {
                let text = format!("Changes of the settings files are not noticed ({error}); /reload reads them.");
                let _ = failed.send(Msg::Config(ConfigMsg::Written(Err(text))));
            }
        }
    }

    fn listen(service: &OwnedFd, known: &[(i32, Vec<String>)], to: &Sender<Msg>) {
        let mut buffer = [MaybeUninit::uninit(); 4_096];
        let mut reader = Reader::new(service, &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let toml = Path::new(&name).extension().is_some_and(|end| end == "toml");
            let ours = |(id, names): &(i32, Vec<String>)| {
                *id == event.wd() && if names.is_empty() { toml } else { names.contains(&name) }
            };
            if event.events().contains(ReadFlags::IGNORED) || !known.iter().any(ours) {
                continue;
            }
            thread::sleep(WRITE_PAUSE);
            if to.send(Msg::Config(ConfigMsg::Changed)).is_err() {
                return;
            }
        }
    }
}
