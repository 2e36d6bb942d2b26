//! Names and shapes of what providers issue: a beginning of its own, then random characters.
//!
//! One line a shape. The name is what the replacement says, so several shapes may share one.

/// What the characters after the beginning are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_` and `-`.
    Word,
    /// As `Word`, with dots between parts.
    Dotted,
    Hex,
    /// Capital letters and digits.
    Upper,
    /// Letters, digits, `+/=_-`.
    Base64,
}

impl Body {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Base64 => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-')
            }
        }
    }
}

/// How much the beginning says by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Nothing else begins so.
    Sure,
    /// It has to be the beginning of a word.
    Word,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub name: &'static str,
    pub prefix: &'static str,
    pub start: Start,
    pub body: Body,
    /// Characters after the beginning.
    pub least: usize,
    pub most: usize,
}

const ANY: usize = 2048;

const fn rule(
    name: &'static str,
    prefix: &'static str,
    start: Start,
    body: Body,
    least: usize,
    most: usize,
) -> Rule {
    Rule {
        name,
        prefix,
        start,
        body,
        least,
        most,
    }
}

use Body::{Alnum, Base64, Dotted, Hex, Upper, Word};
use Start::Sure;

/// Longer beginnings stand before those that are their beginning.
pub(super) const RULES: &[Rule] = &[
    // models
    rule("anthropic key", "sk-ant-", Sure, Word, 20, ANY),
    rule("openai key", "sk-proj-", Sure, Word, 20, ANY),
    rule("openai key", "sk-svcacct-", Sure, Word, 20, ANY),
    rule("openai key", "sk-admin-", Start::Word, Word, 20, ANY),
    rule("openrouter key", "sk-or-v1-", Sure, Hex, 32, 128),
    rule("langfuse key", "sk-lf-", Start::Word, Word, 20, 64),
    rule("api key", "sk-", Start::Word, Alnum, 28, 128),
    rule("elevenlabs key", "sk_", Start::Word, Hex, 40, 64),
    rule("groq key", "gsk_", Start::Word, Alnum, 40, 80),
    rule("xai key", "xai-", Start::Word, Alnum, 60, 120),
    rule("hugging face token", "hf_", Start::Word, Alnum, 30, 60),
    rule("hugging face token", "api_org_", Start::Word, Alnum, 30, 60),
    rule("replicate token", "r8_", Start::Word, Alnum, 30, 60),
    rule("perplexity key", "pplx-", Start::Word, Alnum, 40, 80),
    rule("nvidia key", "nvapi-", Start::Word, Word, 40, 100),
    rule("tavily key", "tvly-", Start::Word, Word, 24, 80),
    rule("cerebras key", "csk-", Start::Word, Alnum, 40, 80),
    rule("langsmith key", "lsv2_pt_", Sure, Word, 32, 80),
    rule("langsmith key", "lsv2_sk_", Sure, Word, 32, 80),
    rule("together key", "tgp_v1_", Sure, Word, 32, 80),
    rule("fireworks key", "fw_", Start::Word, Alnum, 22, 40),
    // code hosts and packages
    rule("github token", "ghp_", Sure, Alnum, 36, 255),
    rule("github token", "gho_", Sure, Alnum, 36, 255),
    rule("github token", "ghu_", Sure, Alnum, 36, 255),
    rule("github token", "ghs_", Sure, Word, 36, ANY),
    rule("github token", "ghr_", Sure, Alnum, 36, 255),
    rule("github token", "github_pat_", Sure, Word, 40, 255),
    rule("gitlab token", "glpat-", Sure, Dotted, 20, 320),
    rule("gitlab token", "gloas-", Sure, Word, 40, 320),
    rule("gitlab token", "gldt-", Sure, Word, 20, 320),
    rule("gitlab token", "glrt-", Sure, Dotted, 20, 320),
    rule("gitlab token", "glcbt-", Sure, Word, 20, 320),
    rule("gitlab token", "glptt-", Sure, Word, 40, 320),
    rule("gitlab token", "glft-", Sure, Word, 20, 320),
    rule("gitlab token", "glimt-", Sure, Word, 20, 320),
    rule("gitlab token", "glagent-", Sure, Word, 40, 320),
    rule("gitlab token", "glsoat-", Sure, Word, 20, 320),
    rule("gitlab token", "GR1348941", Sure, Word, 20, 40),
    rule("bitbucket token", "ATBB", Start::Word, Alnum, 28, 64),
    rule("atlassian token", "ATATT3", Sure, Base64, 40, 400),
    rule("atlassian token", "ATCTT3", Sure, Base64, 40, 400),
    rule("npm token", "npm_", Start::Word, Alnum, 36, 64),
    rule("pypi token", "pypi-AgEIcHlwaS5vcmc", Sure, Word, 32, ANY),
    rule("pypi token", "pypi-AgENdGVzdC5weXBp", Sure, Word, 32, ANY),
    rule("rubygems key", "rubygems_", Start::Word, Hex, 48, 48),
    rule("crates.io token", "cio", Start::Word, Alnum, 32, 32),
    rule("nuget key", "oy2", Start::Word, Alnum, 43, 43),
    rule("docker token", "dckr_pat_", Sure, Word, 24, 64),
    rule("docker token", "dckr_oat_", Sure, Word, 24, 64),
    rule("sourcegraph token", "sgp_", Start::Word, Word, 40, 80),
    rule("buildkite token", "bkua_", Start::Word, Hex, 40, 40),
    rule("circleci token", "CCIPAT_", Start::Word, Word, 40, 120),
    // clouds and hosting
    rule("aws key id", "AKIA", Start::Word, Upper, 16, 16),
    rule("aws key id", "ASIA", Start::Word, Upper, 16, 16),
    rule("google api key", "AIza", Start::Word, Word, 35, 40),
    rule("google oauth token", "ya29.", Start::Word, Word, 20, ANY),
    rule("google oauth token", "1//0", Start::Word, Word, 24, 200),
    rule("google client secret", "GOCSPX-", Sure, Word, 20, 64),
    rule("alibaba key id", "LTAI", Start::Word, Alnum, 16, 26),
    rule("digitalocean token", "dop_v1_", Sure, Hex, 40, 80),
    rule("digitalocean token", "doo_v1_", Sure, Hex, 40, 80),
    rule("digitalocean token", "dor_v1_", Sure, Hex, 40, 80),
    rule("heroku key", "HRKU-", Sure, Word, 32, 80),
    rule("fly token", "fm1_", Start::Word, Base64, 60, ANY),
    rule("fly token", "fm2_", Start::Word, Base64, 60, ANY),
    rule("netlify token", "nfp_", Start::Word, Alnum, 30, 60),
    rule("render key", "rnd_", Start::Word, Alnum, 24, 60),
    rule("supabase token", "sbp_", Start::Word, Hex, 40, 64),
    rule("supabase token", "sb_secret_", Sure, Word, 20, 80),
    rule("planetscale token", "pscale_tkn_", Sure, Word, 30, 80),
    rule("planetscale token", "pscale_pw_", Sure, Word, 30, 80),
    rule("planetscale token", "pscale_oauth_", Sure, Word, 30, 80),
    rule("databricks token", "dapi", Start::Word, Hex, 32, 34),
    rule("vault token", "hvs.", Start::Word, Word, 24, 300),
    rule("vault token", "hvb.", Start::Word, Word, 24, 300),
    rule("doppler token", "dp.pt.", Start::Word, Alnum, 40, 60),
    rule("doppler token", "dp.st.", Start::Word, Dotted, 40, 80),
    rule("pulumi token", "pul-", Start::Word, Hex, 40, 40),
    rule("tailscale key", "tskey-", Start::Word, Word, 20, 100),
    rule("age key", "AGE-SECRET-KEY-1", Sure, Upper, 40, 80),
    rule("1password token", "ops_eyJ", Sure, Base64, 100, ANY),
    // payments and shops
    rule("stripe key", "sk_live_", Sure, Alnum, 16, 255),
    rule("stripe key", "sk_test_", Sure, Alnum, 16, 255),
    rule("stripe key", "rk_live_", Sure, Alnum, 16, 255),
    rule("stripe key", "rk_test_", Sure, Alnum, 16, 255),
    rule("webhook secret", "whsec_", Sure, Base64, 24, 100),
    rule("square token", "sq0atp-", Sure, Word, 22, 64),
    rule("square token", "sq0csp-", Sure, Word, 22, 64),
    rule("shopify token", "shpat_", Sure, Hex, 32, 32),
    rule("shopify token", "shpca_", Sure, Hex, 32, 32),
    rule("shopify token", "shppa_", Sure, Hex, 32, 32),
    rule("shopify token", "shpss_", Sure, Hex, 32, 32),
    // people and messages
    rule("slack token", "xoxb-", Sure, Word, 20, 255),
    rule("slack token", "xoxp-", Sure, Word, 20, 255),
    rule("slack token", "xoxa-", Sure, Word, 20, 255),
    rule("slack token", "xoxr-", Sure, Word, 20, 255),
    rule("slack token", "xoxs-", Sure, Word, 20, 255),
    rule("slack token", "xoxc-", Sure, Word, 20, 255),
    rule("slack token", "xoxd-", Sure, Base64, 20, 400),
    rule("slack token", "xoxe-", Sure, Word, 20, 400),
    rule("slack token", "xoxe.xoxp-", Sure, Word, 20, 400),
    rule("slack token", "xapp-", Sure, Word, 30, 255),
    rule(
        "slack webhook",
        "hooks.slack.com/services/T",
        Sure,
        Base64,
        30,
        80,
    ),
    rule("discord token", "mfa.", Start::Word, Word, 60, 120),
    rule("sendgrid key", "SG.", Start::Word, Dotted, 50, 80),
    rule("mailgun key", "key-", Start::Word, Hex, 32, 32),
    rule("twilio key", "SK", Start::Word, Hex, 32, 32),
    // other services
    rule("linear key", "lin_api_", Sure, Alnum, 32, 64),
    rule("linear key", "lin_oauth_", Sure, Alnum, 32, 80),
    rule("notion token", "ntn_", Start::Word, Alnum, 40, 64),
    rule("notion token", "secret_", Start::Word, Alnum, 43, 43),
    rule("figma token", "figd_", Start::Word, Word, 36, 64),
    rule("postman key", "PMAK-", Sure, Word, 50, 80),
    rule("new relic key", "NRAK-", Sure, Upper, 24, 40),
    rule("grafana token", "glsa_", Start::Word, Word, 36, 64),
    rule("grafana token", "glc_eyJ", Sure, Base64, 40, 400),
    rule("sentry token", "sntrys_", Sure, Base64, 60, ANY),
    rule("sentry token", "sntryu_", Sure, Hex, 64, 64),
    rule("dynatrace token", "dt0c01.", Sure, Dotted, 60, 120),
    rule("contentful token", "CFPAT-", Sure, Word, 40, 64),
];

/// What is found by its shape or its place and not by a beginning.
pub(super) mod name {
    pub const PRIVATE_KEY: &str = "private key";
    pub const JWT: &str = "signed token";
    pub const BEARER: &str = "bearer token";
    pub const BASIC: &str = "basic credentials";
    pub const URL_PASSWORD: &str = "password in address";
    pub const URL_TOKEN: &str = "token in address";
    pub const TELEGRAM: &str = "telegram token";
    pub const DISCORD: &str = "discord token";
    pub const DISCORD_HOOK: &str = "discord webhook";
    pub const AZURE_SECRET: &str = "azure client secret";
    pub const AZURE_KEY: &str = "azure account key";
    pub const AWS_SECRET: &str = "aws secret key";
    pub const SIGNATURE: &str = "address signature";
    pub const PASSWORD: &str = "password";
    pub const SECRET: &str = "secret";
    pub const API_KEY: &str = "api key";
    pub const TOKEN: &str = "token";
    pub const COMMAND: &str = "password on a command line";
    pub const COOKIE: &str = "session cookie";
    pub const ALL: &[&str] = &[
        PRIVATE_KEY,
        JWT,
        BEARER,
        BASIC,
        URL_PASSWORD,
        URL_TOKEN,
        TELEGRAM,
        DISCORD,
        DISCORD_HOOK,
        AZURE_SECRET,
        AZURE_KEY,
        AWS_SECRET,
        SIGNATURE,
        PASSWORD,
        SECRET,
        API_KEY,
        TOKEN,
        COMMAND,
        COOKIE,
    ];
}

/// Every name that can stand in a replacement, once.
pub fn rule_names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for name in RULES
        .iter()
        .map(|rule| rule.name)
        .chain(name::ALL.iter().copied())
    {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
