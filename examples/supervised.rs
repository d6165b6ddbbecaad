//! A service that survives device-side asserts: the model runs in a worker process, which is replaced if it dies.
//!
//! `cargo run --example supervised -- cpu`, or with `--features cuda` and `-- cuda:0` on a machine with a GPU.
//!
//! After an assert, a CUDA context only returns errors, and no call of candle gives the process a new context. So all use of
//! the device is in a worker process. It answers the request that broke the device with an error, and exits. The supervisor
//! starts another worker, and sends the waiting requests again. A request is a line of ids; an answer is a line too. A real
//! service also needs a deadline for each answer.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use candle_core::{Device, Error, Result, Tensor};

/// How many requests are sent ahead: few enough to fit into the pipe while the worker is busy.
const AHEAD: usize = 4;
/// The service gives up after this many lost workers in a row without an answer between them.
const LOST: u32 = 5;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    match (args.next().as_deref(), args.next()) {
        (Some("worker"), Some(device)) => work(&device),
        (device, _) => supervise(device.unwrap_or("cpu")),
    }
}

/// Sends five requests and prints the answers in order. The second request has an id outside of the vocabulary.
fn supervise(device: &str) -> Result<()> {
    let mut waiting: VecDeque<&str> = ["0 1", "2 10", "9", "3 4", "5 6 7"].into();
    let mut sent = VecDeque::new();
    let (mut worker, mut lost, mut restarts) = (Worker::start(device)?, 0, 0);
    while !waiting.is_empty() || !sent.is_empty() {
        while sent.len() < AHEAD
            && let Some(request) = waiting.pop_front()
        {
            // A dead worker is noticed when its answer is read.
            let _ = writeln!(worker.child.stdin.as_mut().expect("piped"), "{request}");
            sent.push_back(request);
        }
        let answer = worker.answer();
        // Answers come in the order of the requests, so the first request without an answer lost the worker. It is answered
        // with an error and never sent again, or it would end one worker after the other.
        let request = sent.pop_front().expect("one was sent");
        println!("{request:<6} {}", answer.as_deref().unwrap_or("error: the worker died"));
        match answer {
            Some(answer) if !answer.starts_with(DEAD) => lost = 0,
            _ => {
                // The worker did not begin the requests after it.
                while let Some(request) = sent.pop_back() {
                    waiting.push_front(request);
                }
                (lost, restarts) = (lost + 1, restarts + 1);
                if lost > LOST {
                    candle_core::bail!("{lost} workers were lost in a row");
                }
                // Wait longer each time if a GPU fails again and again.
                std::thread::sleep(Duration::from_millis(10) * 2_u32.pow(lost));
                worker = Worker::start(device)?;
            }
        }
    }
    println!("restarts: {restarts}");
    Ok(())
}

/// A worker process, seen from the supervisor.
struct Worker {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    fn start(device: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["worker", device]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut worker = Self { child, answers };
        // If a worker cannot start, for example without a device, no request is at fault.
        match worker.answer().as_deref() {
            Some("ready") => Ok(worker),
            _ => candle_core::bail!("no worker starts on {device}"),
        }
    }

    /// The next line of the worker; `None` if it has ended.
    fn answer(&mut self) -> Option<String> {
        (&mut self.answers).lines().next()?.ok()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already. Without the wait, it would stay a zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The beginning of the last answer of a worker that lost its device.
const DEAD: &str = "error: the device is lost: ";

/// The worker: answers requests until there are no more or its device is lost.
fn work(device: &str) -> Result<()> {
    let device = match device.strip_prefix("cuda:") {
        Some(ordinal) => Device::new_cuda(ordinal.parse().map_err(Error::wrap)?)?,
        None if device == "cpu" => Device::Cpu,
        None => candle_core::bail!("`{device}` is not a device; use `cpu` or `cuda:0`"),
    };
    let embedding = Tensor::arange(0_f32, 20., &device)?.reshape((10, 2))?;
    println!("ready");
    for request in std::io::stdin().lines() {
        match model(&embedding, &request?) {
            Ok(answer) => println!("{answer:?}"),
            Err(error) if is_cuda(&error) => {
                println!("{DEAD}{}", first_line(&error));
                // Exit at once: dropping tensors of a dead device causes more errors.
                std::process::exit(1);
            }
            Err(error) => println!("error: {}", first_line(&error)),
        }
    }
    Ok(())
}

/// The sum of the embeddings of some ids. Reading the values back waits for the device, so that this request gets the errors
/// that it causes.
fn model(embedding: &Tensor, request: &str) -> Result<Vec<f32>> {
    let ids: Vec<u32> = request.split(' ').map(|id| id.parse().map_err(Error::wrap)).collect::<Result<_>>()?;
    embedding.index_select(&Tensor::new(ids, embedding.device())?, 0)?.sum(0)?.to_vec1()
}

/// Whether CUDA returned the error: then the context may be lost. Running out of memory keeps the context intact, but a new
/// worker helps there too.
fn is_cuda(error: &Error) -> bool {
    match error {
        Error::Cuda(_) => true,
        Error::WithBacktrace { inner, .. } | Error::Context { inner, .. } => is_cuda(inner),
        _ => false,
    }
}

fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_string()
}
