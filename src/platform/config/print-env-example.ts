import { envExample } from './env-file.js';

process.stdout.write(envExample());
