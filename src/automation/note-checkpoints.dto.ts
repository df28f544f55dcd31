import { ValidateBy } from 'class-validator';

/** What an encrypted label may hold beside its envelope: 8,192 characters of base64, less 61 bytes. */
const MAX_LABEL_BYTES = 6_083;

const isLabel = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && Buffer.byteLength(value, 'utf8') <= MAX_LABEL_BYTES;

export class CreateNoteCheckpointRequest {
  @ValidateBy(
    { name: 'isLabel', validator: { validate: isLabel } },
    { message: `label must be 1 to ${MAX_LABEL_BYTES} bytes of text` },
  )
  label: string;
}
