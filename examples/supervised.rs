//! A service that survives device-side asserts: the model runs in a worker process, which is replaced when it is lost.
//!
//! `cargo run --example supervised -- cpu`, or with `--features cuda` and `-- cuda:0` on a machine that has one.
//!
//! After an assert a CUDA context only returns errors, and no call of candle's gives a process another one. So whatever
//! touches the device is in a process that may end: it answers the request that broke the device with an error, and exits.
//! The supervisor starts another, and sends again what was waiting behind that request. A request is a line of ids, an
//! answer is a line too. What a service adds is a deadline for each answer.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use candle_core::{Device, Error, Result, Tensor};

/// How many requests a worker is sent ahead: few enough for its pipe to take them while nobody reads.
const AHEAD: usize = 4;
/// How many workers may be lost in a row, without an answer between them, before the service gives up.
const LOST: u32 = 5;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    match (args.next().as_deref(), args.next()) {
        (Some("worker"), Some(device)) => work(&device),
        (device, _) => supervise(device.unwrap_or("cpu")),
    }
}

/// Sends five requests, of which the second has an id beyond the vocabulary, and prints the answers in order.
fn supervise(device: &str) -> Result<()> {
    let mut waiting: VecDeque<&str> = ["0 1", "2 10", "9", "3 4", "5 6 7"].into();
    let mut sent = VecDeque::new();
    let (mut worker, mut lost, mut restarts) = (Worker::start(device)?, 0, 0);
    while !waiting.is_empty() || !sent.is_empty() {
        while sent.len() < AHEAD
            && let Some(request) = waiting.pop_front()
        {
            // That the worker is gone shows when it is asked for the answer.
            let _ = writeln!(worker.child.stdin.as_mut().expect("piped"), "{request}");
            sent.push_back(request);
        }
        let answer = worker.answer();
        // Answers come in the order of the requests, so that a worker is lost by the first that has none. That one is
        // answered with an error and never sent again, or it would take one worker after the other.
        let request = sent.pop_front().expect("one was sent");
        println!("{request:<6} {}", answer.as_deref().unwrap_or("error: the worker died"));
        match answer {
            Some(answer) if !answer.starts_with(DEAD) => lost = 0,
            _ => {
                // Those behind it were not begun.
                while let Some(request) = sent.pop_back() {
                    waiting.push_front(request);
                }
                (lost, restarts) = (lost + 1, restarts + 1);
                if lost > LOST {
                    candle_core::bail!("{lost} workers were lost in a row");
                }
                // A GPU that fails again and again is not asked ever faster.
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
        // A worker that cannot start, for want of a device say, is no request's fault.
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
        // It may have ended already. Without the wait it would stay a zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What an answer begins with that is its worker's last.
const DEAD: &str = "error: the device is lost: ";

/// The worker: answers requests until there are no more, or until its device is lost.
fn work(device: &str) -> Result<()> {
    let device = match device.strip_prefix("cuda:") {
        Some(ordinal) => Device::new_cuda(ordinal.parse().map_err(Error::wrap)?)?,
        None if device == "cpu" => Device::Cpu,
        None => candle_core::bail!("`{device}` is no device; `cpu` and `cuda:0` are"),
    };
    let embedding = Tensor::arange(0_f32, 20., &device)?.reshape((10, 2))?;
    println!("ready");
    for request in std::io::stdin().lines() {
        match model(&embedding, &request?) {
            Ok(answer) => println!("{answer:?}"),
            Err(error) if is_cuda(&error) => {
                println!("{DEAD}{}", first_line(&error));
                // At once: dropping what is on a dead device makes more errors.
                std::process::exit(1);
            }
            Err(error) => println!("error: {}", first_line(&error)),
        }
    }
    Ok(())
}

/// The sum of the embeddings of some ids. That the values are read back makes the device's errors this request's, as a
/// device tells of an assert when it is waited for.
fn model(embedding: &Tensor, request: &str) -> Result<Vec<f32>> {
    let ids: Vec<u32> = request.split(' ').map(|id| id.parse().map_err(Error::wrap)).collect::<Result<_>>()?;
    embedding.index_select(&Tensor::new(ids, embedding.device())?, 0)?.sum(0)?.to_vec1()
}

/// Whether an error is CUDA's: then the context is not to be trusted. Running out of memory leaves it sound, but a new
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
