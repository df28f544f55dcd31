import { IsName } from '../platform/http/index.js';
import { IsEmailAddress } from './email-address.js';

export class DevLoginRequest {
  @IsEmailAddress()
  email: string;

  @IsName()
  name: string;
}
