export { Doctor, type Examination, type Finding } from './doctor.js';
export { DoctorModule } from './doctor.module.js';
