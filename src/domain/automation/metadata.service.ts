import { Injectable } from '@nestjs/common';
import { Workspaces } from '../workspaces/index.js';
import { KDF } from './vault-crypto.js';

/** What a client needs to derive the keys from the password; the salts are null before encryption is set up. */
export interface VaultMetadata {
  readonly workspaceId: string;
  readonly name: string;
  readonly encryptionSalt: string | null;
  readonly verificationSalt: string | null;
  readonly kdf: typeof KDF;
}

@Injectable()
export class Metadata {
  constructor(private readonly workspaces: Workspaces) {}

  async of(workspaceId: string): Promise<VaultMetadata> {
    const { name, encryptionSalt, verificationSalt } = await this.workspaces.get(workspaceId);
    return { workspaceId, name, encryptionSalt, verificationSalt, kdf: KDF };
  }
}
