/** Where the process of the proxies begins: beside this file, TypeScript in the source tree, JavaScript once built. */
import { fileBeside } from '../base/system/child.ts';

export const proxyWorkerFile = fileBeside(import.meta.url, 'proxy-worker');
