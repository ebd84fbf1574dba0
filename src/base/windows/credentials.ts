/**
 * The Credential Manager of Windows (advapi32.dll), by koffi: items of text, named and stored as keytar names and stores
 * them, so that both find each other's.
 *
 * Invariant: an item belongs to this user on this machine, and no longer text than the system takes is given to it.
 */

/** <wincred.h>, <winerror.h>. */
const CRED_TYPE_GENERIC = 1;
/** For this user at each sign-in to this machine; a roaming one would give the tokens to two holders. */
const CRED_PERSIST_LOCAL_MACHINE = 2;
const CRED_MAX_CREDENTIAL_BLOB_SIZE = 2560;
const ERROR_NOT_FOUND = 1168;

/** CREDENTIALW. */
const fields = {
  Flags: 'uint32',
  Type: 'uint32',
  TargetName: 'str16',
  Comment: 'str16',
  LastWritten: 'uint64',
  CredentialBlobSize: 'uint32',
  CredentialBlob: 'void *',
  Persist: 'uint32',
  AttributeCount: 'uint32',
  Attributes: 'void *',
  TargetAlias: 'str16',
  UserName: 'str16',
} as const;

export interface CredentialManager {
  getPassword(service: string, account: string): Promise<string | null>;
  setPassword(service: string, account: string, password: string): Promise<void>;
  /** False where there was none. */
  deletePassword(service: string, account: string): Promise<boolean>;
  findCredentials(service: string): Promise<{ readonly account: string }[]>;
}

/** Its functions throw what the system refuses, by its number. */
export async function loadCredentialManager(): Promise<CredentialManager> {
  const { default: koffi } = await import('koffi');
  const { credential, pointer, write, read, remove, enumerate, free, lastError } = functionsIn(koffi);
  const refused = (what: string): Error =>
    new Error(`the Credential Manager can't ${what}: error ${lastError()}`);
  const isMissing = (): boolean => lastError() === ERROR_NOT_FOUND;
  return {
    async getPassword(service, account) {
      const found = [null];
      if (read(nameOf(service, account), CRED_TYPE_GENERIC, 0, found) === 0) {
        if (isMissing()) return null;
        throw refused('read');
      }
      try {
        const { CredentialBlob: blob, CredentialBlobSize: size } = koffi.decode(found[0], credential) as Blob;
        return Buffer.from(koffi.decode(blob, 'uint8_t', size) as Uint8Array).toString('utf8');
      } finally {
        free(found[0]);
      }
    },
    async findCredentials(service) {
      const [count, found] = [[0], [null]];
      if (enumerate(nameOf(service, '*'), 0, count, found) === 0) {
        if (isMissing()) return [];
        throw refused('list');
      }
      try {
        const items = koffi.decode(found[0], koffi.array(pointer, count[0] ?? 0)) as unknown[];
        return items.map((item) => ({
          account: (koffi.decode(item, credential) as { readonly UserName: string }).UserName,
        }));
      } finally {
        free(found[0]);
      }
    },
    async setPassword(service, account, password) {
      const blob = Buffer.from(password, 'utf8');
      if (blob.length > CRED_MAX_CREDENTIAL_BLOB_SIZE)
        throw new Error('the Credential Manager takes 2,560 bytes');
      const item = {
        ...empty,
        TargetName: nameOf(service, account),
        CredentialBlobSize: blob.length,
        CredentialBlob: blob,
        UserName: account,
      };
      if (write(item, 0) === 0) throw refused('write');
    },
    async deletePassword(service, account) {
      if (remove(nameOf(service, account), CRED_TYPE_GENERIC, 0) !== 0) return true;
      if (isMissing()) return false;
      throw refused('delete');
    },
  };
}

function functionsIn(koffi: typeof import('koffi').default) {
  const credential = koffi.struct(fields);
  const pointer = koffi.pointer(credential);
  const [advapi, kernel] = [koffi.load('advapi32.dll'), koffi.load('kernel32.dll')];
  const named = (name: string, more: string): ReturnType<typeof advapi.func> =>
    advapi.func(`int __stdcall ${name}(str16 name, uint32 type, uint32 flags${more})`);
  return {
    credential,
    pointer,
    write: advapi.func('__stdcall', 'CredWriteW', 'int', [pointer, 'uint32']),
    read: named('CredReadW', ', _Out_ void **found'),
    remove: named('CredDeleteW', ''),
    enumerate: advapi.func(
      'int __stdcall CredEnumerateW(str16 filter, uint32 flags, _Out_ uint32 *count, _Out_ void **found)',
    ),
    free: advapi.func('void __stdcall CredFree(void *found)'),
    lastError: kernel.func('uint32 __stdcall GetLastError()'),
  };
}

interface Blob {
  readonly CredentialBlob: unknown;
  readonly CredentialBlobSize: number;
}

const empty = {
  Flags: 0,
  Type: CRED_TYPE_GENERIC,
  Comment: null,
  LastWritten: 0,
  Persist: CRED_PERSIST_LOCAL_MACHINE,
  AttributeCount: 0,
  Attributes: null,
  TargetAlias: null,
};

function nameOf(service: string, account: string): string {
  return `${service}/${account}`;
}
