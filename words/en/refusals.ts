/**
 * What happened and what to do, by the reason of a refusal and the case of it (src/base/errors.ts; a test compares them).
 * An English window shows the broker's own sentences, which say more; these are the pattern for the others.
 */
export const refusals = {
  refusals: {
    internal: 'Something went wrong inside Keyturn. Please report it.',
    parse_error: 'Keyturn got a message that it can’t read. Update the older of the two programs.',
    method_not_found: 'Keyturn doesn’t know this request. Update Keyturn.',
    invalid_request: 'Something that was entered is not valid. Check it and try again.',
    invalid_resource:
      'This is not the address of a server. Enter the whole address, such as https://notes.example/mcp.',
    invalid_scope: 'These permissions can’t be requested. Check how they are written.',
    not_found: 'It is no longer there.',
    conflict: 'This can’t be done in the current state.',
    consent_required: 'The app has no access for this. It can ask you again.',
    consent_pending: 'A request is still open. Answer it first.',
    login_required: 'You need to sign in again.',
    login_pending: 'A sign-in is not finished yet. Finish it, then try again.',
    interrupted: 'It was interrupted. Try again.',
    consent_denied: 'You denied this before. You can undo the denial under Connected apps.',
    not_permitted: 'This is not allowed here.',
    unpaired: 'This app is not connected.',
    pairing_denied: 'The app was not connected. It can ask again.',
    login_failed: 'The sign-in failed. Try again.',
    access_denied:
      'The sign-in provider denied access. Sign in again and allow it there, or ask the provider for access.',
    metadata_invalid:
      'The server’s description of its sign-in can’t be used. Check the address; if it is right, tell the server’s operator.',
    issuer_mismatch:
      'Another sign-in provider answered than the one that was asked. Stop here and tell the server’s operator.',
    resource_mismatch: 'The sign-in is for another server. Check the address.',
    state_mismatch: 'The answer doesn’t belong to this sign-in. Start the sign-in again.',
    pkce_unsupported: 'The sign-in provider doesn’t offer a required protection (PKCE). Tell its operator.',
    insecure_url: 'This address is not secure. Enter one that begins with https.',
    registration_required:
      'The sign-in provider doesn’t register clients automatically. Add an OAuth client for it in Settings.',
    registration_failed:
      'The sign-in provider refused to register Keyturn. Add an OAuth client for it in Settings.',
    redirect_port_taken:
      'Another program uses the port that this sign-in needs. Quit that program and try again.',
    token_invalid: 'The sign-in provider’s answer can’t be used. Tell its operator.',
    audience_mismatch: 'The sign-in provider’s token is for another server, so Keyturn doesn’t use it.',
    scope_insufficient: 'The permissions are not enough. Sign in again, or allow the app more.',
    step_up_exhausted:
      'The server asked for more permissions too often. Sign in again if you want to grant them.',
    authorization_not_required: 'This server needs no sign-in.',
    account_required: 'The app may use several accounts there, and none is chosen yet.',
    audit_broken: 'The activity log was changed. Export it and find out who could write to Keyturn’s files.',
    account_mismatch: 'Another account signed in than was expected. Sign in with the right one.',
    token_refused: 'The server refused several new tokens. Ask its operator, or sign in again.',
    client_rejected:
      'The sign-in provider refuses Keyturn’s client. Sign in again, or add another client in Settings.',
    key_refused: 'The server refused the API key. Create a new one at the server and set it.',
    oauth_offered: 'This server offers a sign-in, so it needs no API key. Sign in instead.',
    assertion_invalid: 'This workload’s proof of identity can’t be used. Check where it comes from.',
    authorization_server_unreachable: 'The sign-in provider can’t be reached. Try again later.',
    protected_server_unreachable: 'The server can’t be reached. Check the address and the network.',
    host_unreachable: 'That computer can’t be reached over SSH.',
    rate_limited: 'That was asked too often. Wait a moment.',
    locked: 'The vault is locked. Unlock it and try again.',
    paused: 'All access is paused. Resume it first.',
    vault_unreadable:
      'Something in the vault can’t be read. Nothing was deleted. Check that the right keychain is open; otherwise sign in again.',
    vault_unavailable: 'The vault doesn’t answer. Answer your keychain if it asks, and try again.',
    file_unreadable: 'A file can’t be used. Keyturn left it as it is.',
    broker_unreachable: 'Keyturn doesn’t answer. Start it again.',
    broker_running: 'Keyturn is already running.',
    handshake_failed: 'The connection could not be made. Try again.',
    socket_unsafe: 'Other users could reach Keyturn’s files. Keyturn doesn’t run until that is fixed.',
    frame_invalid: 'A message was malformed. Update the older of the two programs.',
    broker_stopping: 'Keyturn is shutting down. Try again in a moment.',
    version_unsupported: 'The versions of the app and of Keyturn don’t fit together. Update the older one.',
  },

  refusalCases: {
    invalid_request: {
      pastedAddress:
        'This is not the address that the sign-in ended at. Paste the whole address from the browser.',
      registration: 'These details of a client don’t go together. Check them and try again.',
      passphraseForm: 'This can’t be a passphrase: it is empty or too long.',
      staleList: 'The list of apps has changed. Look at it again, then press once more.',
      settingValue: 'This setting doesn’t take this value.',
    },
    not_found: {
      question: 'This request is no longer open. It was answered or withdrawn, or it expired.',
    },
    conflict: {
      changed: 'It has changed in the meantime. Try again.',
      clientNeeded: 'Sign-ins still need this client. Revoke their access first.',
      appChanged: 'The app that asked has quit or changed. Nothing was allowed; it can ask again.',
      permissionEnded:
        'The earlier access has ended in the meantime. Nothing was allowed; choose a duration.',
      nameTaken: 'This name is taken. Choose another one.',
      portTaken: 'Another program uses this port. Choose another one.',
    },
    not_permitted: {
      press:
        'Nothing was allowed. Look at the request, then press again with the mouse, a finger or the space bar.',
      loginItem:
        'macOS starts Keyturn at login only when you have allowed it in System Settings, General, Login Items.',
    },
    login_failed: {
      cancelled: 'The sign-in was cancelled.',
      codeExpired: 'The code has expired. Start the sign-in again.',
      codeRefused: 'The sign-in provider refused to complete the sign-in. Start it again.',
      clientChanged: 'The client was changed during the sign-in. Start it again.',
      noBrowser: 'The browser could not be opened. Copy the address of the page and open it yourself.',
    },
    insecure_url: {
      privateAddress:
        'This server is in a private network, and you have not confirmed that. If it is yours, add a security exception for it in Settings.',
    },
    token_invalid: {
      clock: 'The token has expired already. Check the clock of this computer.',
    },
    rate_limited: {
      passphrase: 'The passphrase was wrong. Wait a moment before you try again.',
      full: 'The list is full. Remove an entry that you don’t need.',
    },
    locked: {
      wrongPassphrase: 'This passphrase does not open the vault.',
      noPassphrase: 'The vault has no passphrase yet. Choose one.',
      keychainLocked: 'The keychain of this computer is locked. Unlock it and try again.',
      waiting: 'The keychain is asking you something. Answer it, then try again.',
    },
    vault_unavailable: {
      absent: 'No keychain was found. Start one, or keep the secrets in a sealed file.',
      crashed: 'The keychain helper stopped. Try again.',
      full: 'Nothing more can be stored. Check that the disk has room.',
    },
    file_unreadable: {
      unwritable: 'A file can’t be written. Check that the folder is yours and that the disk has room.',
      otherVault:
        'Keyturn’s settings name another vault than the one with your secrets, so no app gets a token.',
      otherHome: 'The vault belongs to other files of Keyturn than these, so no app gets a token.',
    },
  },

  /** Before a text from outside that belongs to it. */
  refusalFacts: {
    said: 'The server says:',
    expected: 'Expected account:',
    signedIn: 'Signed in:',
    file: 'File:',
  },

  technicalMessage: 'Technical message',
} as const;
