use super::*;

const NONE: Option<&str> = None;

/// A user agent, its device, its system and its browser.
type Expected = (&'static str, Option<&'static str>, Option<&'static str>, Option<&'static str>);

#[track_caller]
fn read_as(all: &[Expected]) {
    let agents = Agents::new();
    for (text, device, os, browser) in all {
        let class = agents.class(text);
        let words =
            (class.device.map(DeviceClass::as_str), class.os.map(Os::as_str), class.browser.map(Browser::as_str));
        assert_eq!(words, (*device, *os, *browser), "{text}");
        assert_eq!(agents.class(text), class, "a remembered one is the same");
    }
}

#[test]
fn phones() {
    read_as(&[
        (
            "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile \
             Safari/537.36",
            Some("phone"),
            Some("Android"),
            Some("Chrome Mobile"),
        ),
        (
            "Mozilla/5.0 (Linux; Android 13; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/23.0 \
             Chrome/115.0.0.0 Mobile Safari/537.36",
            Some("phone"),
            Some("Android"),
            Some("Samsung Internet"),
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
             Version/17.2 Mobile/15E148 Safari/604.1",
            Some("phone"),
            Some("iOS"),
            Some("Mobile Safari"),
        ),
    ]);
}

#[test]
fn tablets() {
    read_as(&[
        (
            "Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 \
             Mobile/15E148 Safari/604.1",
            Some("tablet"),
            Some("iOS"),
            Some("Mobile Safari"),
        ),
        (
            "Mozilla/5.0 (Linux; Android 13; SM-X906B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 \
             Safari/537.36",
            Some("tablet"),
            Some("Android"),
            Some("Chrome"),
        ),
        (
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
            Some("tablet"),
            Some("Android"),
            Some("Chrome"),
        ),
    ]);
}

#[test]
fn tvs() {
    read_as(&[
        (
            "Mozilla/5.0 (SMART-TV; LINUX; Tizen 6.0) AppleWebKit/537.36 (KHTML, like Gecko) 76.0.3809.146/6.0 TV \
             Safari/537.36",
            Some("tv"),
            Some("Tizen"),
            Some("Safari"),
        ),
        (
            "Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/87.0.4280.88 \
             Safari/537.36 WebAppManager",
            Some("tv"),
            Some("Web0S"),
            Some("Chrome"),
        ),
        (
            "Mozilla/5.0 (Linux; Android 7.1.2; AFTMM Build/NS6265; wv) AppleWebKit/537.36 (KHTML, like Gecko) \
             Version/4.0 Chrome/70.0.3538.110 Mobile Safari/537.36",
            Some("tv"),
            Some("Android"),
            Some("Chrome Mobile WebView"),
        ),
        (
            "Mozilla/5.0 (Linux; Android 12; Chromecast HD Build/STTL.221121.002) AppleWebKit/537.36 (KHTML, like \
             Gecko) Chrome/110.0.5481.0 Safari/537.36 CrKey/1.56.500000",
            Some("tv"),
            Some("Chromecast Linux"),
            Some("Chrome"),
        ),
        (
            "AppleCoreMedia/1.0.0.20K71 (Apple TV; U; CPU OS 16_1 like Mac OS X; en_us)",
            Some("tv"),
            Some("ATV OS X"),
            None,
        ),
        ("Roku/DVP-12.5 (12.5.0 build 4178-88)", Some("tv"), Some("Roku"), Some("Roku")),
        (
            "Mozilla/5.0 (PlayStation; PlayStation 5/2.26) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0 \
             Safari/605.1.15",
            Some("tv"),
            None,
            Some("Safari"),
        ),
    ]);
}

#[test]
fn desktops() {
    read_as(&[
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0",
            Some("desktop"),
            Some("Linux"),
            Some("Firefox"),
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 \
             Safari/537.36 Edg/120.0.2210.91",
            Some("desktop"),
            Some("Windows"),
            Some("Edge"),
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 \
             Safari/605.1.15",
            Some("desktop"),
            Some("Mac OS X"),
            Some("Safari"),
        ),
    ]);
}

/// The name of an app is not in the lists, and may be anything.
#[test]
fn apps() {
    read_as(&[
        ("MyTV/3.1 CFNetwork/1474 Darwin/23.0.0", None, Some("iOS"), None),
        ("SomeTV/5.0 (iPhone; iOS 17.1; Scale/3.00)", Some("phone"), Some("iOS"), Some("Mobile Safari UI/WKWebView")),
        ("okhttp/4.12.0", None, None, Some("okhttp")),
        ("Dalvik/2.1.0 (Linux; U; Android 13; SM-S911B Build/TP1A.220624.014)", None, Some("Android"), Some("Android")),
        ("Dalvik/2.1.0 (Linux; U; Android 9; AFTKA Build/PS7285)", Some("tv"), Some("Android"), Some("Android")),
        ("ExoPlayerDemo/2.18.1 (Linux;Android 12) ExoPlayerLib/2.18.1", None, Some("Android"), Some("ExoPlayerDemo")),
    ]);
}

#[test]
fn a_meaningless_user_agent_is_unknown() {
    for text in ["", "   ", "-", "x", "Mozilla/5.0", "\u{1f4fa}\u{1f4fa}", "%00%ff", "user-4711/1.0", "((((;;;;"] {
        read_as(&[(Box::leak(text.to_owned().into_boxed_str()), NONE, NONE, NONE)]);
    }
}

#[test]
fn a_long_user_agent_is_read_up_to_the_bound() {
    let agents = Agents::new();
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0";
    // Characters of three bytes: the bound is inside of one.
    let long = format!("{firefox} {}", "\u{20ac}".repeat(10_000));
    assert_eq!(agents.class(&long), agents.class(firefox));
    let late = format!("{} {firefox}", "x".repeat(TEXT_BYTES));
    assert_eq!(agents.class(&late), AgentClass::default());
    assert!(agents.recent.lock().iter().all(|(text, _)| text.len() <= TEXT_BYTES));
}

#[test]
fn no_more_user_agents_are_remembered_than_the_bound() {
    let agents = Agents::new();
    for number in 0..REMEMBERED.get() + 100 {
        agents.class(&format!("x{number}"));
    }
    assert_eq!(agents.recent.lock().len(), REMEMBERED.get());
}

/// Newer regexes need the newer names, too.
#[test]
fn the_lists_have_every_name_that_the_regexes_give() {
    let regexes: Regexes = serde_json::from_str(include_str!("uap-core/regexes.json")).expect("regexes");
    let browsers = regexes.user_agent_parsers.iter().filter_map(|parser| parser.family_replacement.as_deref());
    let systems = regexes.os_parsers.iter().filter_map(|parser| parser.os_replacement.as_deref());
    let given = |name: &&str| !name.contains('$') && *name != "Other";
    browsers.filter(given).for_each(|name| assert!(Browser::of(name).is_some(), "{name}"));
    systems.filter(given).for_each(|name| assert!(Os::of(name).is_some(), "{name}"));
}
