// The memory and garbage collection flags of `npm start`, for other ways to start the service.
import { readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export const HEAP_FLAGS = scripts.start.split(' ').filter((word) => word.startsWith('--'));
