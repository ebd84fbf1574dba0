// Prints the rights of a named pipe, as Windows writes them (SDDL). Takes the pipe's name.
const koffi = require('koffi');

const kernel = koffi.load('kernel32.dll');
const advapi = koffi.load('advapi32.dll');
const open = kernel.func(
  'void *__stdcall CreateFileW(str16 name, uint32 access, uint32 share, void *rights, uint32 how, uint32 flags, void *template)',
);
const read = advapi.func(
  'uint32 __stdcall GetSecurityInfo(void *handle, int kind, uint32 parts, void *owner, void *group, void *dacl, void *sacl, _Out_ void **descriptor)',
);
const write = advapi.func(
  'int __stdcall ConvertSecurityDescriptorToStringSecurityDescriptorW(void *descriptor, uint32 revision, uint32 parts, _Out_ void **text, void *length)',
);
const [READ_CONTROL, OPEN_EXISTING, SE_KERNEL_OBJECT, DACL] = [0x20000, 3, 6, 4];

const descriptor = [null];
const text = [null];
read(
  open(process.argv[2], READ_CONTROL, 0, null, OPEN_EXISTING, 0, null),
  SE_KERNEL_OBJECT,
  DACL,
  null,
  null,
  null,
  null,
  descriptor,
);
write(descriptor[0], 1, DACL, text, null);
process.stdout.write(koffi.decode(text[0], 'char16_t', -1));
