/**
 * The calls of Windows that read and set owners and rights (advapi32.dll), by koffi.
 *
 * Invariant: once loaded, no call throws for what the system refuses: the answer says so. Rights and users are text, in
 * the system's own notation (SDDL).
 */

/** <winnt.h>, <fileapi.h>, <sddl.h>, <accctrl.h>. */
const TOKEN_QUERY = 0x8;
const READ_CONTROL = 0x2_0000;
const WRITE_DAC = 0x4_0000;
const OPEN_EXISTING = 3;
const SDDL_REVISION_1 = 1;
const SE_FILE_OBJECT = 1;
const OWNER_SECURITY_INFORMATION = 0x1;
const DACL_SECURITY_INFORMATION = 0x4;
const PROTECTED_DACL_SECURITY_INFORMATION = 0x8000_0000;

/** TOKEN_INFORMATION_CLASS. Both answers begin with a pointer to a SID. */
const tokenUser = 1;
const tokenOwner = 4;
/** For that pointer, attributes, and the longest SID (68 bytes). */
const tokenBytes = 128;

export interface Security {
  /** The SID of the user of this process. */
  readonly user: string;
  /** The SID that owns what this process makes: the user's, or a group's (an elevated administrator). */
  readonly owner: string;
  /** The SID of a file's or folder's owner; undefined where the system doesn't tell. */
  ownerOf(file: string): string | undefined;
  /** The rights of a file or folder in SDDL, with SIDs; undefined where the system doesn't tell. */
  rightsOf(file: string): string | undefined;
  /** Sets a folder's rights, and lets what is below inherit them. */
  setFolderRights(folder: string, sddl: string): boolean;
  /** Sets the rights of a named pipe that somebody listens on. They hold for all its instances, later ones too. */
  setPipeRights(pipe: string, sddl: string): boolean;
}

type Call = (...values: unknown[]) => unknown;
type Library = (definition: string) => Call;

interface Native {
  readonly kernel: Library;
  readonly advapi: Library;
  /** Reads text that the system allocated. */
  readonly textAt: (pointer: unknown) => string;
}

export async function loadSecurity(): Promise<Security> {
  const { default: koffi } = await import('koffi');
  const library = (file: string): Library => {
    const loaded = koffi.load(file);
    return (definition) => {
      const call = loaded.func(definition);
      return (...values) => call(...values) as unknown;
    };
  };
  const kernel = library('kernel32.dll');
  const free = kernel('void *__stdcall LocalFree(void *memory)');
  const native: Native = {
    kernel,
    advapi: library('advapi32.dll'),
    textAt: (pointer) => {
      const read: unknown = koffi.decode(pointer, 'char16_t', -1);
      free(pointer);
      return String(read);
    },
  };
  const sids = ownSids(native);
  return { ...sids, ...reading(native, sids.user), ...setting(native) };
}

function ownSids({ kernel, advapi, textAt }: Native): Pick<Security, 'user' | 'owner'> {
  const currentProcess = kernel('void *__stdcall GetCurrentProcess()');
  const close = kernel('int __stdcall CloseHandle(void *handle)');
  const openToken = advapi(
    'int __stdcall OpenProcessToken(void *process, uint32 access, _Out_ void **token)',
  );
  const tokenInformation = advapi(
    'int __stdcall GetTokenInformation(void *token, int kind, void *value, uint32 size, _Out_ uint32 *needed)',
  );
  const sidText = advapi('int __stdcall ConvertSidToStringSidW(void *sid, _Out_ void **text)');
  const token = [null];
  if (openToken(currentProcess(), TOKEN_QUERY, token) === 0) throw new Error('OpenProcessToken failed');
  const sidOf = (kind: number): string => {
    const value = Buffer.alloc(tokenBytes);
    const found = [null];
    if (tokenInformation(token[0], kind, value, tokenBytes, [0]) === 0)
      throw new Error('GetTokenInformation failed');
    if (sidText(value.readBigUInt64LE(0), found) === 0) throw new Error('ConvertSidToStringSidW failed');
    return textAt(found[0]);
  };
  try {
    return { user: sidOf(tokenUser), owner: sidOf(tokenOwner) };
  } finally {
    close(token[0]);
  }
}

function reading({ kernel, advapi, textAt }: Native, user: string): Pick<Security, 'ownerOf' | 'rightsOf'> {
  const read = advapi(
    'uint32 __stdcall GetNamedSecurityInfoW(str16 name, int kind, uint32 parts, void *owner, void *group, void *dacl, void *sacl, _Out_ void **descriptor)',
  );
  const write = advapi(
    'int __stdcall ConvertSecurityDescriptorToStringSecurityDescriptorW(void *descriptor, uint32 revision, uint32 parts, _Out_ void **text, void *length)',
  );
  const free = kernel('void *__stdcall LocalFree(void *memory)');
  const described = (file: string, parts: number): string | undefined => {
    const descriptor = [null];
    const text = [null];
    if (read(file, SE_FILE_OBJECT, parts, null, null, null, null, descriptor) !== 0) return undefined;
    const isWritten = write(descriptor[0], SDDL_REVISION_1, parts, text, null) !== 0;
    free(descriptor[0]);
    return isWritten ? withSids(textAt(text[0]), user) : undefined;
  };
  return {
    ownerOf: (file) => described(file, OWNER_SECURITY_INFORMATION)?.replace(/^O:/, ''),
    rightsOf: (file) => described(file, DACL_SECURITY_INFORMATION),
  };
}

/** SDDL's names of two letters for those who may own a folder of the home or have rights in it (access.ts). */
const namedSids: Readonly<Record<string, string>> = {
  BA: 'S-1-5-32-544',
  SY: 'S-1-5-18',
  LS: 'S-1-5-19',
  NS: 'S-1-5-20',
};

/** The ends of the SIDs of a computer's built-in administrator and guest. */
const namedUsers: Readonly<Record<string, string>> = { LA: '-500', LG: '-501' };

/** The text of SDDL with SIDs in place of their names. `user`: this process's. */
export function withSids(sddl: string, user: string): string {
  return sddl.replaceAll(/(?<=^O:|;)[A-Z]{2}(?=\)|$)/g, (name) => {
    const end = namedUsers[name];
    return end !== undefined && user.endsWith(end) ? user : (namedSids[name] ?? name);
  });
}

function setting({ kernel, advapi }: Native): Pick<Security, 'setFolderRights' | 'setPipeRights'> {
  const parse = advapi(
    'int __stdcall ConvertStringSecurityDescriptorToSecurityDescriptorW(str16 text, uint32 revision, _Out_ void **descriptor, void *size)',
  );
  const daclOf = advapi(
    'int __stdcall GetSecurityDescriptorDacl(void *descriptor, _Out_ int *present, _Out_ void **dacl, _Out_ int *defaulted)',
  );
  const setNamed = advapi(
    'uint32 __stdcall SetNamedSecurityInfoW(str16 name, int kind, uint32 parts, void *owner, void *group, void *dacl, void *sacl)',
  );
  const setFile = advapi('int __stdcall SetFileSecurityW(str16 name, uint32 parts, void *descriptor)');
  const setObject = advapi(
    'int __stdcall SetKernelObjectSecurity(void *handle, uint32 parts, void *descriptor)',
  );
  const open = kernel(
    'intptr_t __stdcall CreateFileW(str16 name, uint32 access, uint32 share, void *rights, uint32 how, uint32 flags, void *template)',
  );
  const close = kernel('int __stdcall CloseHandle(intptr_t handle)');
  const free = kernel('void *__stdcall LocalFree(void *memory)');
  const withDescriptor = (sddl: string, use: (descriptor: unknown) => boolean): boolean => {
    const descriptor = [null];
    if (parse(sddl, SDDL_REVISION_1, descriptor, null) === 0) return false;
    const isSet = use(descriptor[0]);
    free(descriptor[0]);
    return isSet;
  };
  const replaced = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
  return {
    setFolderRights: (folder, sddl) =>
      withDescriptor(sddl, (descriptor) => {
        const dacl = [null];
        if (daclOf(descriptor, [0], dacl, [0]) === 0) return false;
        // The first call reaches what is below; the second one sets exactly these rights, where the first adds others.
        const parts = replaced >>> 0;
        return (
          setNamed(folder, SE_FILE_OBJECT, parts, null, null, dacl[0], null) === 0 &&
          setFile(folder, parts, descriptor) !== 0
        );
      }),
    setPipeRights: (pipe, sddl) =>
      withDescriptor(sddl, (descriptor) => {
        const handle = open(pipe, READ_CONTROL | WRITE_DAC, 0, null, OPEN_EXISTING, 0, null);
        if (handle === -1 || handle === -1n) return false;
        const isSet = setObject(handle, DACL_SECURITY_INFORMATION, descriptor) !== 0;
        close(handle);
        return isSet;
      }),
  };
}
