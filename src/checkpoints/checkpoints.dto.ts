import { IsIn, Matches } from 'class-validator';
import type { CheckpointKind } from './checkpoints.service.js';

/** Base64, base64url or hex: opaque, so its alphabet and length are all that is looked at. */
const LABEL = /^(?=.{1,8192}$)(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/;

export class CreateCheckpointRequest {
  @Matches(LABEL, { message: 'encryptedLabel must be 1 to 8192 characters of base64, base64url or hex' })
  encryptedLabel: string;

  @IsIn(['manual', 'auto'], { message: 'kind must be manual or auto' })
  kind: CheckpointKind;
}
