import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { envExample } from '../../../src/platform/config/index.js';

describe('.env.example', () => {
  it('matches the configuration class (npm run env writes it)', () => {
    const file = readFileSync(join(import.meta.dirname, '..', '..', '..', '.env.example'), 'utf8');
    expect(file).toBe(envExample());
  });
});
