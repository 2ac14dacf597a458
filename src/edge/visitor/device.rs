//! The kind of device by words of its user agent, in lower case.

use model::visitor::DeviceClass;

/// Before all others: an app's own name often contains "TV", on whatever device it runs.
const PHONE_FIRST: &[&str] = &["iphone", "ipod", "windows phone"];
const TABLET_FIRST: &[&str] = &["ipad"];

/// Sets, boxes and sticks, and consoles, which play on a TV.
const TV: &[&str] = &[
    "smart-tv",
    "smarttv",
    "smart tv",
    "apple tv",
    "appletv",
    "tvos",
    "android tv",
    "androidtv",
    "google tv",
    "googletv",
    "hbbtv",
    "crkey",
    "chromecast",
    "roku",
    "bravia",
    "web0s",
    "webos.tv",
    "netcast",
    "vidaa",
    "viera",
    "philipstv",
    "nettv",
    "mitv",
    "mibox",
    "shield android",
    // Fire TV: all its models begin so.
    "; aft",
    "playstation 3",
    "playstation 4",
    "playstation 5",
    "xbox",
    "nintendo wiiu",
];

/// Kindle Fire names itself so in its browser; `sm-t` and `sm-x` are models of Samsung.
const TABLET: &[&str] =
    &["tablet", "kindle", "playbook", "silk/", "; sm-t", "; sm-x", "nexus 7", "nexus 9", "nexus 10"];

const PHONE: &[&str] = &["mobile", "opera mini", "kaios", "blackberry", "symbian"];

/// Linux runs on boxes, too: only a graphical session of its own, or the processor, tells a desktop.
const DESKTOP_LINUX: &[&str] = &["x11;", "wayland", "x86_64", "i686"];

/// `None`: nothing in it tells. `system`: the operating system, as it was read from the same text.
pub(super) fn of(text: &str, system: Option<&str>) -> Option<DeviceClass> {
    let text = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(PHONE_FIRST) {
        Some(DeviceClass::Phone)
    } else if has(TABLET_FIRST) {
        Some(DeviceClass::Tablet)
    } else if has(TV) || (has(&["tizen"]) && has(&[" tv"])) {
        Some(DeviceClass::Tv)
    } else if has(TABLET) && !(has(&["silk/"]) && has(&["mobile"])) {
        Some(DeviceClass::Tablet)
    } else if has(PHONE) {
        Some(DeviceClass::Phone)
    } else {
        by_system(&text, system?, has)
    }
}

fn by_system(text: &str, system: &str, has: impl Fn(&[&str]) -> bool) -> Option<DeviceClass> {
    match system {
        // A browser on a phone says "mobile"; apps say neither.
        "Android" => text.starts_with("mozilla/").then_some(DeviceClass::Tablet),
        "Windows" | "Mac OS X" | "Mac OS" | "Chrome OS" => Some(DeviceClass::Desktop),
        "Linux" | "Ubuntu" | "Kubuntu" | "Lubuntu" | "Debian" | "Fedora" | "Red Hat" | "CentOS" | "SUSE"
        | "openSUSE" | "Linux Mint" | "Arch Linux" | "Mageia" | "Mandriva" | "Gentoo" | "Slackware" | "FreeBSD"
        | "OpenBSD" | "NetBSD" => has(DESKTOP_LINUX).then_some(DeviceClass::Desktop),
        _ => None,
    }
}
