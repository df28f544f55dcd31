import { envExample } from './env-example.js';

process.stdout.write(envExample());
