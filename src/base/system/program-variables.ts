/**
 * Environment variables that change how a program runs or connects: what it loads, where it finds its files, through
 * which proxy it speaks, whom it trusts.
 *
 * Invariant: on Windows names have no case, and proxies have lower-case names everywhere, so case never matters.
 */
const names = [
  /** What Node, its parts and its tools read. */
  'NODE_.*|NPM_.*|BUN_.*|DENO_.*|UV_.*|ELECTRON_.*|OPENSSL_.*|SSL_.*|SSLKEYLOGFILE|RES_OPTIONS|LOCALDOMAIN|HOSTALIASES',
  /** What the loader, the C library and shells read. */
  'LD_.*|DYLD_.*|GLIBC_.*|MALLOC_.*|GCONV_PATH|GETCONF_DIR|LOCPATH|NLSPATH|TZDIR|RESOLV_.*|CARES_.*|ICU_DATA|BASH_.*|ENV|IFS|PS4|SHELL|COMSPEC',
  /** What a program finds its files, its services and other programs by. */
  'PATH|PATHEXT|HOME|HOMEDRIVE|HOMEPATH|USERPROFILE|(?:LOCAL)?APPDATA|SYSTEMROOT|WINDIR|TMPDIR|TMP|TEMP|XDG_.*|DBUS_.*|BROWSER|DISPLAY|.*_DISPLAY',
  /** What Keyturn itself reads, and where it connects through. */
  'KEYTURN_.*|.*_PROXY',
  /** What other languages load, for clients that start a wrapper. */
  '(?:PYTHON|PERL|RUBY|GIT_|JAVA_|_JAVA_|JDK_).*',
];
const pattern = new RegExp(`^(?:${names.join('|')})$`, 'i');

export const changesPrograms = (name: string): boolean => pattern.test(name.trim());

/** What a connection goes through and trusts. The bridge ignores only HTTP_PROXY of it: plain http is for this machine. */
export const changesConnections = (name: string): boolean =>
  /^(?:NODE_EXTRA_CA_CERTS|(?:HTTPS?|ALL|NO)_PROXY)$/i.test(name);
