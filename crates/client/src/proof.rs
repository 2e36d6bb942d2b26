//! What proves that something comes from a session: its secret over the socket, and for what lies on
//! a disk a code made with it (HMAC-SHA-256), so that the secret itself is never written down.
//!
//! On the hook path nothing outside std is linked, so the hash is here.

const BLOCK: usize = 64;

/// What is kept of a secret, and what codes are made with.
pub fn secret_hash(secret: &str) -> String {
    hex(&sha256(&[secret.as_bytes()]))
}

/// The code of these parts, in hex: none of them can be moved into another.
pub fn code(secret_hash: &str, parts: &[&[u8]]) -> String {
    let lengths: Vec<[u8; 8]> = parts
        .iter()
        .map(|part| (part.len() as u64).to_be_bytes())
        .collect();
    let mut framed: Vec<&[u8]> = Vec::with_capacity(parts.len() * 2);
    for (length, part) in lengths.iter().zip(parts) {
        framed.push(length);
        framed.push(part);
    }
    hex(&hmac_of(secret_hash.as_bytes(), &framed))
}

/// HMAC-SHA-256.
pub fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    hmac_of(key, &[text])
}

/// In the same time wherever they differ. An empty secret is no secret.
pub fn is_same(given: &[u8], right: &[u8]) -> bool {
    if given.len() != right.len() || right.is_empty() {
        return false;
    }
    let differ = given
        .iter()
        .zip(right)
        .fold(0u8, |differ, (a, b)| std::hint::black_box(differ | (a ^ b)));
    differ == 0
}

pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            let _ = write!(out, "{byte:02x}"); // a String takes every write
            out
        })
}

fn hmac_of(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    match block.get_mut(..key.len()) {
        Some(start) => start.copy_from_slice(key),
        None => block[..32].copy_from_slice(&sha256(&[key])),
    }
    let (inner, outer) = (block.map(|byte| byte ^ 0x36), block.map(|byte| byte ^ 0x5c));
    let mut all: Vec<&[u8]> = Vec::with_capacity(parts.len() + 1);
    all.push(&inner);
    all.extend_from_slice(parts);
    let first = sha256(&all);
    sha256(&[&outer, &first])
}

/// FIPS 180-4, of all parts one after the other.
fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut state: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let mut block = [0_u8; BLOCK];
    let mut filled = 0;
    let mut length: u64 = 0;
    for part in parts {
        length += part.len() as u64;
        let mut rest: &[u8] = part;
        while !rest.is_empty() {
            let taken = rest.len().min(BLOCK - filled);
            block[filled..filled + taken].copy_from_slice(&rest[..taken]);
            filled += taken;
            rest = &rest[taken..];
            if filled == BLOCK {
                compress(&mut state, &block);
                filled = 0;
            }
        }
    }
    block[filled] = 0x80;
    block[filled + 1..].fill(0);
    if filled + 9 > BLOCK {
        compress(&mut state, &block);
        block.fill(0);
    }
    block[BLOCK - 8..].copy_from_slice(&(length * 8).to_be_bytes());
    compress(&mut state, &block);
    let mut out = [0_u8; 32];
    for (place, word) in out.chunks_exact_mut(4).zip(state) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    out
}

fn compress(state: &mut [u32; 8], block: &[u8; BLOCK]) {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for i in 16..64 {
        let (a, b) = (words[i - 15], words[i - 2]);
        let first = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let second = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        words[i] = words[i - 16]
            .wrapping_add(first)
            .wrapping_add(words[i - 7])
            .wrapping_add(second);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.into_iter().zip(ROUND) {
        let first = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(constant)
            .wrapping_add(word);
        let second = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *old = old.wrapping_add(new);
    }
}

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const ROUND: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4 and every length around the end of a block, against themselves in pieces.
    #[test]
    fn hashes_are_sha_256() {
        for (text, expected) in [
            (
                "",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                "abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ] {
            assert_eq!(secret_hash(text), expected, "{text}");
        }
        let million = vec![b'a'; 1_000_000];
        assert_eq!(
            hex(&sha256(&[&million])),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        );
        let bytes: Vec<u8> = (0..200).collect();
        for length in 0..bytes.len() {
            let whole = sha256(&[&bytes[..length]]);
            for at in [0, length / 3, length / 2, length] {
                assert_eq!(whole, sha256(&[&bytes[..at], &bytes[at..length]]));
            }
        }
    }

    /// RFC 4231, cases 1, 2 and 6.
    #[test]
    fn codes_are_hmac_sha_256() {
        for (key, text, expected) in [
            (
                vec![0x0b; 20],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&hmac(&key, text)), expected);
        }
    }

    #[test]
    fn a_code_is_of_these_parts_and_of_this_secret() {
        let own = secret_hash("own");
        let right = code(&own, &[b"ab", b"c"]);
        assert_eq!(right, code(&own, &[b"ab", b"c"]));
        for other in [
            code(&own, &[b"a", b"bc"]),
            code(&own, &[b"abc"]),
            code(&own, &[b"ab", b"c", b""]),
            code(&secret_hash("other"), &[b"ab", b"c"]),
        ] {
            assert!(!is_same(other.as_bytes(), right.as_bytes()));
        }
        assert!(is_same(right.as_bytes(), right.as_bytes()));
        assert!(!is_same(b"", b""), "an empty secret is no secret");
    }
}
